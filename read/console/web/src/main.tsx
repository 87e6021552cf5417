import { createRoot } from 'react-dom/client';
import './style/index.css';
import { App } from './app';

const root = document.getElementById('root');
if (root) createRoot(root).render(<App />);
