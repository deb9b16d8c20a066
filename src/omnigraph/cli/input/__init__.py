"""What users type or name: query text, parameters, files, prompts, consent."""
