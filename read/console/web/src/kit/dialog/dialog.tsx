import { X } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { Dialog as AriaDialog, Heading, Input, Label, Modal, ModalOverlay, TextField } from 'react-aria-components';
import { Button, IconButton } from '../button/button';
import css from './dialog.module.css';

interface Props { title: string; onClose: () => void; children: ReactNode; actions?: ReactNode; wide?: boolean; alert?: boolean }

export function Dialog({ title, onClose, children, actions, wide, alert }: Props) {
  return (
    <ModalOverlay isOpen isDismissable={!alert} onOpenChange={(open) => { if (!open) onClose(); }} className={css['overlay']!}>
      <Modal className={css['modal']!} data-wide={wide || undefined}>
        <AriaDialog className={css['dialog']!} role={alert ? 'alertdialog' : 'dialog'}>
          <header>
            <Heading slot="title" level={2}>{title}</Heading>
            <IconButton icon={X} label="Close" small onPress={onClose} />
          </header>
          <div className={css['body']}>{children}</div>
          {actions && <footer>{actions}</footer>}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Confirm says what goes, how many, and whether it comes back. Above 100 the number is typed. */
export function Confirm({ title, children, verb, count = 1, onConfirm, onClose }: { title: string; children: ReactNode; verb: string; count?: number; onConfirm: () => void; onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const sure = count <= 100 || typed.replaceAll(/\s/g, '') === String(count);
  return (
    <Dialog title={title} alert onClose={onClose} actions={<>
      <Button onPress={onClose} autoFocus>Keep</Button>
      <Button look="danger" isDisabled={!sure} onPress={onConfirm}>{verb}</Button>
    </>}>
      {children}
      {count > 100 && (
        <TextField value={typed} onChange={setTyped} className={css['field']!}>
          <Label>Type {count} to go on</Label>
          <Input inputMode="numeric" />
        </TextField>
      )}
    </Dialog>
  );
}
