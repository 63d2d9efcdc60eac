import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

interface Props {
  title: ReactNode
  description: string | null
  /** Stands alone in the middle of the wallpaper, with its title in the middle. */
  centered?: boolean
  children: ReactNode
}

const prevent = (event: Event): void => event.preventDefault()

/** A dialog above everything else, toasts included. It ends only when its parent removes it: Esc does not close it. */
export function RequiredDialog({ title, description, centered = false, children }: Props) {
  return (
    <Radix.Root open>
      <Radix.Portal>
        {centered && <div className="fixed inset-0 z-[66] [background:var(--wall)]" />}
        <Radix.Content
          onEscapeKeyDown={prevent}
          onInteractOutside={prevent}
          {...(description === null && { 'aria-describedby': undefined })}
          className={cn(
            'floating appear fixed inset-0 z-[70] scroll m-auto h-fit max-h-[94dvh] rounded-xl',
            centered ? 'w-[min(360px,94vw)] space-y-4 p-7 low:py-4' : 'w-[min(380px,94vw)] space-y-3 p-5',
          )}
        >
          <Radix.Title
            className={cn('font-semibold', centered ? 'text-center' : 'flex items-center gap-2 text-[15px]')}
          >
            {title}
          </Radix.Title>
          {description !== null && (
            <Radix.Description className="text-[13px] text-fg-2">{description}</Radix.Description>
          )}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
