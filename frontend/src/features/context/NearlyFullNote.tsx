import { X } from 'lucide-react'
import type { TokenCount } from '@/api/endpoints'
import { CommandButton } from '@/components/CommandButton'
import { Button, IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { chooseAutoCompact } from './autoCompact'
import { dismiss, useDismissed } from './dismissed'
import { fullness } from './useRequestSize'

interface Props {
  sessionId: string
  size: TokenCount
}

/** Proposes to compact a conversation that nearly fills the context window. */
export default function NearlyFullNote({ sessionId, size }: Props) {
  const t = useT()
  if (useDismissed(sessionId)) return null
  return (
    <section
      aria-label={t('context')}
      className="mx-auto flex w-full max-w-[760px] flex-wrap items-center gap-x-2 gap-y-1 px-4 pt-1 pb-1.5 text-small text-warn max-md:px-2"
    >
      <p role="status" className="me-auto">
        {t('nearlyFull', { n: Math.floor(fullness(size) * 100) })}
      </p>
      <span className="flex flex-wrap items-center gap-1">
        <CommandButton command="compress" size="small">
          {t('compress')}
        </CommandButton>
        <Button size="small" look="ghost" onClick={() => void chooseAutoCompact(sessionId, 'on')}>
          {t('compactAlways')}
        </Button>
        <IconButton size="smallIcon" label={t('notNow')} onClick={() => dismiss(sessionId)}>
          <X size={14} aria-hidden />
        </IconButton>
      </span>
    </section>
  )
}
