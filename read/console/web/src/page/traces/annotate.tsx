import { Dialog } from '../../kit/dialog/dialog';
import { showCount } from '../../url/number';
import { FeedbackForm } from '../trace/feedback';

/** Annotate says the same of every selected span. */
export function Annotate({ spans, close }: { spans: readonly { trace: string; span: string }[]; close: () => void }) {
  return <Dialog title={`Annotate ${showCount(spans.length)} ${spans.length === 1 ? 'span' : 'spans'}`} onClose={close}><FeedbackForm spans={spans} close={close} /></Dialog>;
}
