import type { ReactNode } from 'react';
import { Dialog as AriaDialog, Popover as AriaPopover, type PopoverProps } from 'react-aria-components';
import css from './dialog.module.css';

/** Popover is a small dialog beside the button that opened it. */
export function Popover({ label, children, ...rest }: Omit<PopoverProps, 'children' | 'className'> & { label: string; children: ReactNode }) {
  return (
    <AriaPopover {...rest} className={css['popover']!} offset={4}>
      <AriaDialog aria-label={label} className={css['inner']!}>{children}</AriaDialog>
    </AriaPopover>
  );
}
