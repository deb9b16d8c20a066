// The entry: styles, the theme of last time, and the application.
import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/jetbrains-mono/wght.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/components.css';
import { createRoot } from 'react-dom/client';
import { App } from './app/App';
import { applyTheme } from './lib/theme';

applyTheme();
createRoot(document.getElementById('root')!).render(<App />);
