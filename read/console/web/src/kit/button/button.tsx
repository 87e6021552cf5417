import type { ComponentType, ReactNode, Ref } from 'react';
import { Button as AriaButton, Tooltip, TooltipTrigger, type ButtonProps } from 'react-aria-components';
import css from './button.module.css';

type Look = 'plain' | 'accent' | 'danger' | 'quiet';
export type Icon = ComponentType<{ size?: number | string; 'aria-hidden'?: boolean | 'true' | 'false'; className?: string; strokeWidth?: number | string }>;

interface Props extends Omit<ButtonProps, 'className' | 'children' | 'style'> {
  look?: Look;
  icon?: Icon;
  small?: boolean;
  pressed?: boolean;
  children?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ look = 'plain', icon: Icon, small, pressed, children, ...rest }: Props) {
  return (
    <AriaButton {...rest} className={css['button']!} data-look={look} data-small={small || undefined} {...(pressed !== undefined && { 'aria-pressed': pressed })}>
      {Icon && <Icon size={14} aria-hidden className={css['icon']!} />}
      {children !== undefined && children !== null && <span className={css['text']}>{children}</span>}
    </AriaButton>
  );
}

interface IconProps extends Omit<Props, 'children' | 'look'> { icon: Icon; label: string; keys?: string }

/** IconButton has its name in a tooltip and for screen readers, so that the picture is never alone. */
export function IconButton({ icon: Icon, label, keys, small, pressed, ...rest }: IconProps) {
  return (
    <TooltipTrigger delay={400} closeDelay={0}>
      <AriaButton {...rest} className={css['icon-button']!} aria-label={label} data-small={small || undefined} {...(pressed !== undefined && { 'aria-pressed': pressed })}>
        <Icon size={small ? 14 : 16} aria-hidden strokeWidth={1.8} />
      </AriaButton>
      <Tooltip className={css['tooltip']!} offset={6}>{label}{keys && <kbd>{keys}</kbd>}</Tooltip>
    </TooltipTrigger>
  );
}

/** Choice is a row of buttons of which one is on. */
export function Choice<T extends string>({ label, value, options, onChange }: { label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (value: T) => void }) {
  return (
    <div className={css['choice']} role="radiogroup" aria-label={label} onKeyDown={(event) => {
      const step = event.key === 'ArrowRight' || event.key === 'ArrowDown' ? 1 : event.key === 'ArrowLeft' || event.key === 'ArrowUp' ? -1 : 0;
      if (!step) return;
      event.preventDefault();
      const at = options.findIndex(([v]) => v === value);
      const next = (at + step + options.length) % options.length;
      onChange(options[next]![0]);
      (event.currentTarget.children[next] as HTMLElement | undefined)?.focus();
    }}>
      {options.map(([v, text]) => (
        <button key={v} type="button" role="radio" aria-checked={v === value} tabIndex={v === value ? 0 : -1} onClick={() => onChange(v)}>{text}</button>
      ))}
    </div>
  );
}
