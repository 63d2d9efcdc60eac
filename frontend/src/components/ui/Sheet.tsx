import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { useT } from '@/lib/i18n'
import { IconButton } from './Button'
import { useOpener } from './useOpener'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: string
  /** Whether the rest of the page is out of reach meanwhile. */
  modal: boolean
  /** Has the focus after the sheet if what opened it is gone. */
  opener: () => HTMLElement | null
  children: ReactNode
}

/** A pane that slides over the page from the right. */
export default function Sheet({ open, onOpenChange, title, modal, opener, children }: Props) {
  const t = useT()
  const { remember, onCloseAutoFocus } = useOpener(opener)
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange} modal={modal}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-30 bg-black/25" />
        <Radix.Content
          aria-describedby={undefined}
          data-sheet
          onOpenAutoFocus={remember}
          onCloseAutoFocus={onCloseAutoFocus}
          onEscapeKeyDown={event => {
            // It ends a composition or the editor's search first.
            const { target } = event
            if (event.isComposing || (target instanceof Element && target.closest('.cm-panels')))
              event.preventDefault()
          }}
          onInteractOutside={event => !modal && event.preventDefault()}
          className="slide-in fixed inset-y-2 right-2 z-40 flex w-[clamp(460px,50vw,600px)] flex-col rounded-xl border bg-[var(--pane-solid)] shadow-(--shadow-float)"
        >
          <header className="flex h-11 shrink-0 items-center gap-2 border-b ps-3.5 pe-1.5 pointer-coarse:h-12">
            <Radix.Title className="min-w-0 flex-1 truncate font-semibold text-[13.5px]">{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label={t('close')}>
                <X size={16} aria-hidden />
              </IconButton>
            </Radix.Close>
          </header>
          <div className="min-h-0 flex-1 [&>.pane]:border-0 [&>.pane]:bg-transparent [&>.pane]:shadow-none">
            {children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
