import { X } from 'lucide-react'
import { type FocusEvent, type MouseEvent, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { createPortal } from 'react-dom'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { announce } from '@/stores/announcer'
import { dismiss, lifetime, type Toast, useToasts } from '@/stores/toasts'
import { Button, IconButton } from './Button'

/** A dialog that is open and keeps everything outside it out of reach. */
const modalDialog = (): Element | null =>
  [...document.querySelectorAll('body > [role=dialog][data-state=open]')].at(-1) ?? null

function watchDialogs(onChange: () => void): () => void {
  const observer = new MutationObserver(onChange)
  // Dialogs are children of the body.
  observer.observe(document.body, { childList: true })
  return () => observer.disconnect()
}

/** The messages. While a modal dialog is open they are part of it: nothing outside it can be read, focused or pressed. */
export function Toasts() {
  const list = useToasts(s => s.list)
  const dialog = useSyncExternalStore(watchDialogs, modalDialog)
  const announced = useRef(0)
  useEffect(() => {
    for (const item of list.filter(({ id }) => id > announced.current)) {
      announce(item.text, item.tone === 'bad')
      announced.current = item.id
    }
  }, [list])
  const cards = (
    <div className="pointer-events-none fixed inset-x-0 top-14 z-[60] flex flex-col items-center gap-2 px-3">
      {list.map(item => (
        <ToastCard key={item.id} item={item} />
      ))}
    </div>
  )
  return dialog && list.length > 0 ? createPortal(cards, dialog) : cards
}

function ToastCard({ item }: { item: Toast }) {
  const t = useT()
  const [held, setHeld] = useState(false)
  const opener = useRef<HTMLElement | null>(null)
  const onFocus = (event: FocusEvent) => {
    setHeld(true)
    const from = event.relatedTarget
    if (from instanceof HTMLElement && !event.currentTarget.contains(from)) opener.current = from
  }
  /** Gives the focus back if the toast has it, because it is about to vanish. */
  const leave = (event: MouseEvent) => {
    dismiss(item.id)
    if (document.activeElement !== event.currentTarget) return
    const there = opener.current?.isConnected ? opener.current : document.getElementById('pane-chat')
    there?.focus()
  }
  useEffect(() => {
    if (held) return
    const timer = setTimeout(() => dismiss(item.id), lifetime(item))
    return () => clearTimeout(timer)
  }, [item, held])
  return (
    <section
      aria-label={item.text}
      data-toast
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={onFocus}
      onBlur={() => setHeld(false)}
      className={cn(
        'floating appear pointer-events-auto flex max-w-[min(520px,100%)] items-center gap-2 rounded-lg py-1.5 ps-3.5 pe-1.5 text-[13px]',
        item.tone === 'bad' && 'border-bad-line text-bad',
      )}
    >
      <span className="min-w-0 py-1 [overflow-wrap:anywhere]">{item.text}</span>
      {item.action && (
        <Button
          size="small"
          look="ghost"
          className="text-accent!"
          onClick={event => {
            item.action?.run()
            leave(event)
          }}
        >
          {item.action.label}
        </Button>
      )}
      <IconButton label={t('close')} size="smallIcon" onClick={leave}>
        <X size={14} aria-hidden />
      </IconButton>
    </section>
  )
}
