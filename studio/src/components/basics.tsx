// Small pieces that every page uses: panels, states, tabs, dialogs, messages.
import { X } from 'lucide-react';
import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { advice, ApiError } from '../lib/api/client';
import { Store, useStore } from '../lib/store';
import type { Async } from '../lib/useAsync';

export function Page({ title, note, actions, fill, children }: { title: string; note?: ReactNode; actions?: ReactNode; fill?: boolean; children: ReactNode }) {
  return (
    <div className={fill ? 'page fill' : 'page'}>
      <div className="page-head">
        <h1>{title}</h1>
        {note && <p>{note}</p>}
        <span className="spacer" />
        {actions}
      </div>
      {children}
    </div>
  );
}

export function Panel({ title, actions, grow, flush, children, className = '' }: { title?: ReactNode; actions?: ReactNode; grow?: boolean; flush?: boolean; children: ReactNode; className?: string }) {
  return (
    <section className={`panel ${grow ? 'grow' : ''} ${className}`}>
      {(title || actions) && (
        <header>
          {title && <h2>{title}</h2>}
          <span className="spacer" />
          {actions}
        </header>
      )}
      <div className={flush ? 'body flush' : 'body'}>{children}</div>
    </section>
  );
}

export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <div className="state" role="status">
      <div className="spinner" />
      <span>{what}…</span>
    </div>
  );
}

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children && <div className="what">{children}</div>}
      {action}
    </div>
  );
}

export function Failure({ error, retry, title }: { error: unknown; retry?: () => void; title?: string }) {
  const message = error instanceof Error ? error.message : String(error);
  const forbidden = error instanceof ApiError && error.status === 403;
  return (
    <div className="state error" role="alert">
      <h2>{title ?? (forbidden ? 'You may not see this' : 'This did not work')}</h2>
      <div className="what">{message}</div>
      <div className="what small">{advice(error)}</div>
      {retry && (
        <button className="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The states of loaded data; `children` gets the data. Data that is being reloaded stays on the screen. */
export function Loaded<T>({ from, what, children }: { from: Async<T>; what?: string; children: (data: T) => ReactNode }) {
  if (from.error) return <Failure error={from.error} retry={from.reload} />;
  if (from.data === undefined) return <Loading what={what} />;
  return (
    <>
      {from.loading && <div className="bar" />}
      {children(from.data)}
    </>
  );
}

export function Tabs<T extends string>({ value, options, onChange, label }: { value: T; options: { value: T; label: ReactNode; disabled?: boolean }[]; onChange: (next: T) => void; label: string }) {
  const list = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const usable = options.filter((each) => !each.disabled);
    const at = usable.findIndex((each) => each.value === value);
    const next = usable[(at + by + usable.length) % usable.length]!.value;
    onChange(next);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[options.findIndex((each) => each.value === next)]?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} ref={list}>
      {options.map((each) => (
        <button
          key={each.value}
          role="tab"
          type="button"
          aria-selected={each.value === value}
          disabled={each.disabled}
          tabIndex={each.value === value ? 0 : -1}
          onClick={() => onChange(each.value)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowRight') move(1);
            if (event.key === 'ArrowLeft') move(-1);
          }}
        >
          {each.label}
        </button>
      ))}
    </div>
  );
}

export function Dialog({ title, onClose, children, wide }: { title: string; onClose: () => void; children: ReactNode; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={ref} className={wide ? 'dialog wide' : 'dialog'} aria-labelledby={id} onCancel={onClose} onClick={(event) => event.target === ref.current && onClose()}>
      <header>
        <h2 id={id}>{title}</h2>
        <span className="spacer" />
        <button className="button ghost small icon" aria-label="Close" onClick={onClose}>
          <X size={16} />
        </button>
      </header>
      <div className="body">{children}</div>
    </dialog>
  );
}

const toasts = new Store<readonly { id: number; text: string }[]>([]);
let lastToast = 0;

export function toast(text: string): void {
  const id = ++lastToast;
  toasts.set([...toasts.get(), { id, text }]);
  setTimeout(() => toasts.set(toasts.get().filter((each) => each.id !== id)), 5000);
}

export function Toasts() {
  return (
    <div className="toasts" role="status" aria-live="polite">
      {useStore(toasts).map((each) => (
        <div className="toast" key={each.id}>
          {each.text}
        </div>
      ))}
    </div>
  );
}

export function Menu({ label, children, right, button }: { label: string; button: ReactNode; right?: boolean; children: (close: () => void) => ReactNode }) {
  const ref = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  const close = () => {
    if (ref.current) ref.current.open = false;
  };
  useEffect(() => {
    const outside = (event: Event) => !ref.current?.contains(event.target as Node) && close();
    const escape = (event: KeyboardEvent) => event.key === 'Escape' && close();
    addEventListener('pointerdown', outside);
    addEventListener('keydown', escape);
    return () => {
      removeEventListener('pointerdown', outside);
      removeEventListener('keydown', escape);
    };
  }, []);
  return (
    <details className="menu" ref={ref} onToggle={() => setOpen(ref.current?.open ?? false)}>
      <summary className="button" aria-label={label}>
        {button}
      </summary>
      <div className={right ? 'menu-list right' : 'menu-list'}>{open && children(close)}</div>
    </details>
  );
}
