import { createRoot } from 'react-dom/client';
import './style/index.css';
import { App } from './app';
import { startKeys } from './shell/keys';
import { applyPrefs } from './shell/prefs';

applyPrefs();
startKeys();
const root = document.getElementById('root');
if (root) createRoot(root).render(<App />);
