// The frame: top bar with graph and point, navigation, shortcuts, and the page.
import { Keyboard, LogOut, Monitor, Moon, Search, Sun } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { Dialog } from '../components/basics';
import { PointPicker } from '../components/PointPicker';
import { useGraph, usePermissions } from '../lib/graph';
import { usePoint } from '../lib/point';
import { go, href, usePlace } from '../lib/router';
import { signOut, token } from '../lib/session';
import { keyNames, shortcuts, useShortcuts } from '../lib/shortcuts';
import { useStore } from '../lib/store';
import { setTheme, theme, type Theme } from '../lib/theme';
import { PAGES, type PageEntry } from '../pages/registry';
import { Mark } from './Mark';
import { Palette } from './Palette';

const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };

export function Shell({ graphs, entry, children }: { graphs: string[]; entry: PageEntry | undefined; children: ReactNode }) {
  const { id } = useGraph();
  const { params } = usePlace();
  const [point] = usePoint();
  const { may, actor } = usePermissions(point.kind === 'branch' ? point.name : 'main');
  const [help, setHelp] = useState(false);
  const [palette, setPalette] = useState(false);
  const chosen = useStore(theme);
  const signedIn = useStore(token) !== null;
  const at = params.get('at') ?? undefined;
  const pages = PAGES.filter((each) => !each.needs || may(each.needs));
  const cycle = () => setTheme(NEXT[chosen]);
  useShortcuts([
    { keys: '?', what: 'Show the keyboard shortcuts', run: () => setHelp(true) },
    { keys: 'mod+k', what: 'Go to a page, branch or type', run: () => setPalette(true), inInputs: true },
    { keys: 'g t', what: 'Switch between light, dark and the system’s theme', run: cycle },
    ...pages.map((each) => ({ keys: `g ${each.key}`, what: `Go to ${each.title}`, run: () => go(href(id, each.name, { at })) })),
  ]);
  const ThemeIcon = chosen === 'light' ? Sun : chosen === 'dark' ? Moon : Monitor;
  return (
    <div className="shell">
      <header className="topbar">
        <a className="brand" href={href(id, 'overview', { at })} aria-label="OmniGraph studio: overview">
          <Mark /> <span>OmniGraph</span>
        </a>
        {graphs.length > 1 ? (
          <select className="select" aria-label="Graph" value={id} onChange={(event) => go(href(event.target.value, entry?.name ?? 'overview'))}>
            {graphs.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        ) : (
          <span className="badge">{id}</span>
        )}
        <PointPicker />
        <span className="spacer" />
        <button className="button ghost" onClick={() => setPalette(true)}>
          <Search size={15} /> Go to <kbd>{keyNames('mod+k').join(' ')}</kbd>
        </button>
        <button className="button ghost icon" aria-label={`Theme: ${chosen}. Change`} title={`Theme: ${chosen}`} onClick={cycle}>
          <ThemeIcon size={16} />
        </button>
        <button className="button ghost icon" aria-label="Keyboard shortcuts" onClick={() => setHelp(true)}>
          <Keyboard size={17} />
        </button>
        {signedIn && (
          <button className="button ghost" onClick={() => signOut()} title="Sign out">
            <span className="clip">{actor ?? 'signed in'}</span> <LogOut size={15} aria-label="Sign out" />
          </button>
        )}
      </header>
      <nav className="nav" aria-label="Pages">
        {pages.map(({ name, title, icon: Icon }) => (
          <a key={name} href={href(id, name, { at })} aria-current={entry?.name === name ? 'page' : undefined} aria-label={title} title={title}>
            <Icon size={17} /> <span>{title}</span>
          </a>
        ))}
        <div className="foot">
          Press <kbd>?</kbd> for shortcuts
        </div>
      </nav>
      <main tabIndex={-1}>
        <Missing />
        {children}
      </main>
      {help && <Help onClose={() => setHelp(false)} />}
      {palette && <Palette onClose={() => setPalette(false)} />}
    </div>
  );
}

/** Says that the branch of the address is not there, on every page, with the way back. */
function Missing() {
  const { branches } = useGraph();
  const [point, setPoint] = usePoint();
  if (point.kind !== 'branch' || branches.loading || !branches.data || branches.data.includes(point.name)) return null;
  return (
    <div className="callout warn missing" role="alert">
      <span>
        There is no branch “{point.name}”. It was renamed or deleted, or you may not see it.
      </span>
      <button className="button small" onClick={() => setPoint({ kind: 'branch', name: 'main' })}>
        Show main
      </button>
    </div>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  const list = useStore(shortcuts);
  const known = new Map(list.map((each) => [each.keys, each]));
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <table className="plain">
        <tbody>
          {[...known.values()].map((each) => (
            <tr key={each.keys}>
              <td>{each.what}</td>
              <td className="num">
                {keyNames(each.keys).map((key, at) => (
                  <kbd key={at}>{key}</kbd>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
