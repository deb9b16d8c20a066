// Keyboard shortcuts: registered by whoever is on the screen, listed in the help dialog.
import { useEffect, useRef } from 'react';
import { Store } from './store';

export interface Shortcut {
  keys: string; // "mod+k", "g q", "?"
  what: string;
  run: () => void;
  inInputs?: boolean;
  when?: () => boolean; // otherwise the key does what the browser does with it
}

export const shortcuts = new Store<readonly Shortcut[]>([]);
const MAC = /Mac|iPhone|iPad/.test(navigator.platform);
let pending = '';
let timer = 0;

export function keyNames(keys: string): string[] {
  return keys.split(/[+ ]/).map((key) => (key === 'mod' ? (MAC ? '⌘' : 'Ctrl') : key === 'enter' ? 'Enter' : key.length === 1 ? key.toUpperCase() : key[0]!.toUpperCase() + key.slice(1)));
}

function pressed(event: KeyboardEvent): string {
  const key = event.key === ' ' ? 'space' : event.key.toLowerCase();
  const mod = event.ctrlKey || event.metaKey ? 'mod+' : '';
  const shift = event.shiftKey && key.length > 1 ? 'shift+' : '';
  return `${mod}${event.altKey ? 'alt+' : ''}${shift}${key}`;
}

function typing(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest('input, textarea, select, [contenteditable]:not([contenteditable="false"])');
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.key === 'Shift' || event.key === 'Control') return;
  if (document.querySelector('dialog[open]')) return; // what is behind a dialog waits for it
  const one = pressed(event);
  const sequence = pending ? `${pending} ${one}` : one;
  const inside = typing(event.target);
  const fits = (each: Shortcut) => (!inside || each.inInputs) && (each.when?.() ?? true);
  const found = [...shortcuts.get()].reverse().find((each) => each.keys === sequence && fits(each));
  clearTimeout(timer);
  pending = '';
  if (found) {
    event.preventDefault();
    found.run();
  } else if (!inside && shortcuts.get().some((each) => each.keys.startsWith(`${one} `))) {
    pending = one;
    timer = window.setTimeout(() => (pending = ''), 1200);
  }
}

addEventListener('keydown', onKey);

/** Shortcuts that hold while the component is mounted; the newest one wins where two have the same keys. */
export function useShortcuts(list: Shortcut[]): void {
  const latest = useRef(list);
  latest.current = list;
  const signature = list.map((each) => each.keys).join('|');
  useEffect(() => {
    const mine = latest.current.map((each, at) => ({ ...each, run: () => latest.current[at]?.run(), when: () => latest.current[at]?.when?.() ?? true }));
    shortcuts.set([...shortcuts.get(), ...mine]);
    return () => shortcuts.set(shortcuts.get().filter((each) => !mine.includes(each as (typeof mine)[number])));
  }, [signature]);
}
