import type { AnchorHTMLAttributes, MouseEvent, ReactNode, Ref } from 'react';
import { address, go } from '../../shell/place';

interface Props extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  to: string;
  state?: string;
  children: ReactNode;
  ref?: Ref<HTMLAnchorElement>;
}

/** Link leads to a page of the console; with a modifier it opens a tab, as every link does. */
export function Link({ to, state, onClick, children, ...rest }: Props) {
  const href = address(to, state);
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return <a {...rest} href={href} onClick={follow}>{children}</a>;
}
