"""`omnigraph fmt`: files in place, standard input, `--check` and `--diff`."""

from __future__ import annotations

from tests.cli_runner import Desk

UGLY = "query a( ) {match{$p:Person} return{$p.name}} // all\n"
NICE = "query a() {\n  match { $p: Person }\n  return { $p.name }\n} // all\n"
UGLY_SCHEMA, NICE_SCHEMA = "node   A{name:String}", "node A {\n  name: String\n}\n"


def test_files_and_directories_are_formatted_in_place(desk: Desk) -> None:
    desk.write("one.gq", UGLY)
    desk.write("deep/er/two.pg", UGLY_SCHEMA)
    desk.write("deep/notes.txt", UGLY)
    done = desk.run("fmt", "one.gq", "deep")
    assert (done.code, done.stdout) == (0, "")
    assert done.stderr == "formatted one.gq\nformatted deep/er/two.pg\n"
    assert (desk.place / "one.gq").read_text() == NICE
    assert (desk.place / "deep/er/two.pg").read_text() == NICE_SCHEMA
    assert (desk.place / "deep/notes.txt").read_text() == UGLY
    assert desk.run("fmt", "one.gq", "deep").stderr == ""


def test_standard_input_tells_its_language_by_its_first_word(desk: Desk) -> None:
    assert desk.run("fmt", stdin=UGLY).stdout == NICE
    assert desk.run("fmt", "-", stdin=UGLY_SCHEMA).stdout == NICE_SCHEMA
    refused = desk.run("fmt", "--language", "pg", stdin=UGLY)
    assert refused.code == 1
    assert "S000" in refused.stderr


def test_check_names_what_is_not_formatted_and_writes_nothing(desk: Desk) -> None:
    desk.write("one.gq", UGLY)
    desk.write("two.gq", NICE)
    done = desk.run("fmt", "--check", "one.gq", "two.gq")
    assert (done.code, done.stderr) == (1, "not formatted: one.gq\n")
    assert (desk.place / "one.gq").read_text() == UGLY
    assert desk.run("fmt", "--check", "two.gq").code == 0


def test_diff_prints_what_would_change_and_writes_nothing(desk: Desk) -> None:
    desk.write("two.pg", UGLY_SCHEMA)
    done = desk.run("fmt", "--diff", "two.pg")
    assert done.code == 0
    assert done.stdout.splitlines()[:2] == ["--- two.pg", "+++ two.pg (formatted)"]
    assert "\\ No newline at end of file" in done.stdout
    assert "+  name: String" in done.stdout
    assert (desk.place / "two.pg").read_text() == UGLY_SCHEMA
    assert desk.run("fmt", "--diff", "--check", "two.pg").code == 1


def test_a_file_that_does_not_parse_is_named_and_the_others_are_formatted(desk: Desk) -> None:
    desk.write("bad.gq", "query a( {")
    desk.write("good.gq", UGLY)
    done = desk.run("fmt", "bad.gq", "good.gq")
    assert done.code == 1
    assert "bad.gq:1:10" in done.stderr
    assert (desk.place / "bad.gq").read_text() == "query a( {"
    assert (desk.place / "good.gq").read_text() == NICE


def test_other_endings_need_a_language(desk: Desk) -> None:
    desk.write("one.txt", UGLY)
    refused = desk.run("fmt", "one.txt")
    assert refused.code == 1
    assert "--language" in refused.stderr
    assert desk.run("fmt", "one.txt", "--language", "gq").code == 0
    assert (desk.place / "one.txt").read_text() == NICE
    assert "No such file" in desk.run("fmt", "gone.gq").stderr
