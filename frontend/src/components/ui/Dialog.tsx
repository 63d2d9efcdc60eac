import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import { type ReactNode, useLayoutEffect } from 'react'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { IconButton } from './Button'
import { useOpener } from './useOpener'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: string
  description?: string
  size?: keyof typeof WIDTH
  children: ReactNode
}

const FIELD =
  ':is(input:not([type=checkbox], [type=radio], [type=range], [type=file]), textarea):not(:disabled)'

const WIDTH = {
  narrow: 'w-[min(440px,94vw)]',
  wide: 'w-[min(640px,94vw)]',
  widest: 'w-[min(1040px,96vw)]',
  full: 'w-[min(1400px,96vw)]',
}

/** Moves the focus to the first text field. On a touch screen that would open the keyboard over the dialog. */
function toFirstField(event: Event): void {
  const field = (event.currentTarget as HTMLElement).querySelector<HTMLElement>(FIELD)
  if (!field || matchMedia('(pointer: coarse)').matches) return
  event.preventDefault()
  field.focus({ preventScroll: true })
}

export function Dialog({ open, onOpenChange, title, description, size = 'narrow', children }: Props) {
  const t = useT()
  const { remember, onCloseAutoFocus } = useOpener()
  // Before the content takes the focus itself, after which there is no `onOpenAutoFocus`.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `remember` reads nothing that was rendered
  useLayoutEffect(() => {
    if (open) remember()
  }, [open])
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/30" />
        <Radix.Content
          aria-describedby={undefined}
          onOpenAutoFocus={event => {
            remember()
            toFirstField(event)
          }}
          onCloseAutoFocus={onCloseAutoFocus}
          className={cn(
            'floating appear fixed inset-x-0 low:top-[3dvh] top-[10%] z-50 mx-auto flex low:max-h-[94dvh] max-h-[80dvh] flex-col rounded-xl',
            WIDTH[size],
          )}
        >
          <header className="flex items-center gap-2 px-5 pt-4 low:pt-2 pb-2 low:pb-1">
            <Radix.Title className="min-w-0 flex-1 font-semibold text-[15px]">{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label={t('close')} size="smallIcon">
                <X size={15} aria-hidden />
              </IconButton>
            </Radix.Close>
          </header>
          {description && (
            <Radix.Description className="px-5 pb-2 text-[13px] text-fg-2">{description}</Radix.Description>
          )}
          <div className="scroll min-h-0 px-5 pb-5">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/**
 * The actions of a dialog: always in view, however long its content is. They cover the padding below the content, and
 * sticky positions are measured without it.
 */
export function DialogActions({ children }: { children: ReactNode }) {
  return (
    <div className="sticky -bottom-5 z-10 -mx-5 rounded-b-xl mt-4 -mb-5 flex flex-wrap items-center justify-end gap-2 border-t bg-[var(--pane-solid)] px-5 py-3">
      {children}
    </div>
  )
}
