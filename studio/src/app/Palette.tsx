// One box to go anywhere: pages, branches, tags and types.
import { useMemo, useState } from 'react';
import { Dialog } from '../components/basics';
import { useGraph, usePermissions, useSchema } from '../lib/graph';
import { formatPoint, type Point } from '../lib/point';
import { go, href, usePlace } from '../lib/router';
import { PAGES } from '../pages/registry';

interface Choice {
  label: string;
  kind: string;
  run: () => void;
}

export function Palette({ onClose }: { onClose: () => void }) {
  const { id, branches, tags } = useGraph();
  const { page, params } = usePlace();
  const { may } = usePermissions('main');
  const schema = useSchema();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const at = params.get('at') ?? undefined;
  const choices = useMemo(() => {
    const switchTo = (point: Point) => () => go(href(id, page, { ...Object.fromEntries(params), at: formatPoint(point) }));
    const all: Choice[] = [
      ...PAGES.filter((each) => !each.needs || may(each.needs)).map((each) => ({ label: each.title, kind: 'page', run: () => go(href(id, each.name, { at })) })),
      ...(branches.data ?? []).map((name) => ({ label: name, kind: 'branch', run: switchTo({ kind: 'branch', name }) })),
      ...(tags.data ?? []).map((each) => ({ label: each.name, kind: 'tag', run: switchTo({ kind: 'snapshot', id: each.name }) })),
      ...(schema.data?.nodes ?? []).map((type) => ({ label: type.name, kind: 'type', run: () => go(href(id, 'query', { at, q: `match { $n: ${type.name} }\nreturn { $n }\nlimit 100`, run: '1' })) })),
    ];
    const wanted = text.trim().toLowerCase();
    return all.filter((each) => each.label.toLowerCase().includes(wanted)).slice(0, 40);
  }, [text, branches.data, tags.data, schema.data, id, page, params, at]);
  const run = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    choice.run();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        className="input"
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen}`}
        aria-label="Page, branch, tag or type"
        placeholder="Page, branch, tag or type"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setChosen((before) => Math.min(before + 1, choices.length - 1));
          else if (event.key === 'ArrowUp') setChosen((before) => Math.max(before - 1, 0));
          else if (event.key === 'Enter') run(choices[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Choices" className="palette">
        {choices.map((choice, index) => (
          <li key={`${choice.kind}/${choice.label}`} id={`palette-${index}`} role="option" aria-selected={index === chosen} onClick={() => run(choice)} onPointerMove={() => setChosen(index)}>
            <span className="clip">{choice.label}</span>
            <span className="badge">{choice.kind}</span>
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p className="muted">Nothing has this name. Try a part of it.</p>}
    </Dialog>
  );
}
