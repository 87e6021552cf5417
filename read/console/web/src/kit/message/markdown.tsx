import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { useLayoutEffect, useRef } from 'react';
import { safeLink } from './message';
import css from './message.module.css';

const ALLOWED = ['p', 'br', 'hr', 'em', 'strong', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'a', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'span', 'sup', 'sub'];

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** What a message has of HTML becomes text before anything parses it, and a picture a link. */
const marked = new Marked({ gfm: true, breaks: true, renderer: {
  html: ({ text }) => escaped(text),
  image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
} });

/** Markdown shows what a message says with its headings, lists and tables. Its HTML is text, its pictures are not loaded, its links open elsewhere. */
export default function Markdown({ text }: { text: string }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const html = marked.parse(text, { async: false });
    const fragment = DOMPurify.sanitize(html, { ALLOWED_TAGS: ALLOWED, ALLOWED_ATTR: ['href', 'align', 'start'], ALLOW_DATA_ATTR: false, RETURN_DOM_FRAGMENT: true });
    for (const a of fragment.querySelectorAll('a')) {
      const to = safeLink(a.getAttribute('href') ?? '');
      if (!to) {
        a.replaceWith(...a.childNodes);
        continue;
      }
      a.href = to;
      a.target = '_blank';
      a.rel = 'noreferrer noopener';
    }
    // Headings of a message are not headings of the page.
    for (const h of fragment.querySelectorAll('h1,h2,h3,h4,h5,h6')) {
      const p = document.createElement('p');
      p.className = css['heading']!;
      p.append(...h.childNodes);
      h.replaceWith(p);
    }
    element.replaceChildren(fragment);
  }, [text]);
  return <div ref={box} className={css['markdown']} />;
}
