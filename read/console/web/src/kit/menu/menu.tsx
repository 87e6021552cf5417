import type { ReactNode } from 'react';
import { Menu as AriaMenu, MenuItem, MenuTrigger, Popover, Separator } from 'react-aria-components';
import { Button, IconButton, type Icon } from '../button/button';
import css from './menu.module.css';

export interface Item { id: string; text: string; icon?: Icon; keys?: string; run: () => void; disabled?: string; bad?: boolean; on?: boolean }

interface Props { label: string; icon?: Icon; text?: ReactNode; items: readonly (Item | '-')[]; small?: boolean; look?: 'plain' | 'quiet' }

/** Menu is a button with things to do. What is not possible says why. */
export function Menu({ label, icon, text, items, small, look = 'quiet' }: Props) {
  const all = items.filter((item): item is Item => item !== '-');
  return (
    <MenuTrigger>
      {text === undefined && icon ? <IconButton icon={icon} label={label} {...(small && { small })} /> : <Button look={look} aria-label={label} {...(icon && { icon })} {...(small && { small })}>{text}</Button>}
      <Popover className={css['popover']!} offset={4}>
        <AriaMenu className={css['menu']!} aria-label={label} disabledKeys={all.filter((i) => i.disabled).map((i) => i.id)} onAction={(id) => all.find((i) => i.id === id)?.run()}>
          {items.map((item, i) => item === '-' ? <Separator key={`s${i}`} className={css['line']!} /> : (
            <MenuItem key={item.id} id={item.id} textValue={item.text} className={css['item']!} data-bad={item.bad || undefined}>
              <span className={css['icon']}>{item.on ? '✓' : item.icon && <item.icon size={14} aria-hidden />}</span>
              <span className={css['text']}>{item.text}{item.disabled && <small>{item.disabled}</small>}</span>
              {item.keys && <kbd>{item.keys}</kbd>}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}
