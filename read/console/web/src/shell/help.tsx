import { Dialog } from '../kit/dialog/dialog';
import { useLayers } from './keys';
import css from './shell.module.css';

/** Help lists the keys that work on the page. */
export default function Help({ close }: { close: () => void }) {
  const layers = useLayers();
  const titles = [...new Set(layers.map((l) => l.title))].toReversed();
  return (
    <Dialog title="Keys of this page" onClose={close} wide>
      <div className={css['keys']}>
        {titles.map((title) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {layers.filter((l) => l.title === title).flatMap((l) => Object.entries(l.bindings.current)).filter(([, b]) => !b.hidden).map(([key, b]) => (
                <div key={key}><dt>{key.split(' ').map((k) => <kbd key={k}>{k.replace('Mod+', navigator.platform.startsWith('Mac') ? '⌘' : 'Ctrl ').replace('Arrow', '')}</kbd>)}</dt><dd>{b.about}</dd></div>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>In lists</h3>
          <dl>
            {[['j k', 'Next and previous row'], ['Home End', 'First and last row'], ['Enter', 'Open'], ['o', 'Open in a new tab'], ['x', 'Select'], ['Esc', 'Close the innermost']].map(([k, v]) => (
              <div key={k}><dt>{k!.split(' ').map((one) => <kbd key={one}>{one}</kbd>)}</dt><dd>{v}</dd></div>
            ))}
          </dl>
        </section>
      </div>
    </Dialog>
  );
}
