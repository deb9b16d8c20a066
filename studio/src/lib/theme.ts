// Light, dark, or what the system says. Only this preference is kept beyond the tab.
import { Store } from './store';

export type Theme = 'light' | 'dark' | 'system';
const KEY = 'omnigraph.theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function remembered(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return found === 'light' || found === 'dark' ? found : 'system';
  } catch {
    return 'system';
  }
}

export const theme = new Store<Theme>(remembered());
// Whether dark colours are shown now; canvases, which CSS does not reach, watch this.
export const isDark = new Store<boolean>(false);

export function applyTheme(): void {
  const dark = theme.get() === 'dark' || (theme.get() === 'system' && system.matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  isDark.set(dark);
}

export function setTheme(next: Theme): void {
  theme.set(next);
  try {
    if (next === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // A browser that keeps nothing shows what the system says next time.
  }
  applyTheme();
}

system.addEventListener('change', applyTheme);
