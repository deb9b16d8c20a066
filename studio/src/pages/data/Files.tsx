// The files: where they are dropped, how far they are, and those that the server keeps.
import { FileUp, Trash2 } from 'lucide-react';
import { useLayoutEffect, useRef, useState } from 'react';
import { bytes } from '../../lib/format';
import { ENDINGS, type Kept } from './uploads';

export interface Sending {
  name: string;
  part: number;
}

interface Props {
  kept: Kept[];
  sending: Sending[];
  onFiles: (files: File[]) => void;
  onRemove: (name: string) => void;
}

export function Files({ kept, sending, onFiles, onRemove }: Props) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  // Anywhere on the page: a browser would otherwise leave the studio and show the file.
  useLayoutEffect(() => {
    const drag = (event: DragEvent) => {
      event.preventDefault();
      setOver(event.type === 'dragover');
      if (event.type === 'drop' && event.dataTransfer) latest.current([...event.dataTransfer.files]);
    };
    const kinds = ['dragover', 'dragleave', 'drop'] as const;
    for (const kind of kinds) addEventListener(kind, drag);
    return () => kinds.forEach((kind) => removeEventListener(kind, drag));
  }, []);
  return (
    <section className="panel data-files" aria-label="Files">
      <div className={over ? 'drop over' : 'drop'}>
        <FileUp size={22} aria-hidden />
        <div>
          Drop files here, or <button type="button" className="link" onClick={() => input.current?.click()}>choose them</button>
          <div className="small muted">CSV, TSV, JSON, Parquet, ORC or Excel; text files may be compressed</div>
        </div>
        <input ref={input} type="file" multiple accept={ENDINGS} hidden aria-label="Choose files" onChange={(event) => { onFiles([...(event.target.files ?? [])]); event.target.value = ''; }} />
      </div>
      {(kept.length > 0 || sending.length > 0) && (
        <ul className="data-list">
          {kept.map((each) => (
            <li key={each.name}>
              <span className="clip mono" title={each.name}>{each.name}</span>
              <span className="spacer" />
              <span className="muted small">{bytes(each.bytes)}</span>
              <button className="button ghost small icon" aria-label={`Remove ${each.name}`} onClick={() => onRemove(each.name)}>
                <Trash2 size={14} />
              </button>
            </li>
          ))}
          {sending.map((each) => (
            <li key={each.name}>
              <span className="clip mono">{each.name}</span>
              <progress aria-label={`Sending ${each.name}`} value={each.part} max={1} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
