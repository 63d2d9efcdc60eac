import { PanelLeft, PanelRight } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

interface Props {
  title: string
  running: boolean
  leftOpen: boolean
  rightOpen: boolean
  onLeft: () => void
  onRight: () => void
}

export function ChatHeader({ title, running, leftOpen, rightOpen, onLeft, onRight }: Props) {
  const t = useT()
  return (
    <header className="flex h-11 shrink-0 items-center gap-1 border-b px-2 max-md:h-12">
      <IconButton
        label={t('toggleSessions')}
        aria-expanded={leftOpen}
        aria-controls={leftOpen ? 'pane-left' : undefined}
        onClick={onLeft}
      >
        <PanelLeft size={17} aria-hidden />
      </IconButton>
      <div className="flex min-w-0 flex-1 items-center justify-center gap-2">
        {running && (
          <span
            aria-hidden
            className="spin size-3.5 shrink-0 rounded-full border-2 border-accent border-t-transparent"
          />
        )}
        <h2 id="chat-title" className="truncate font-semibold text-[13.5px]">
          {title}
        </h2>
      </div>
      <IconButton
        label={t('toggleInspector')}
        aria-expanded={rightOpen}
        aria-controls={rightOpen ? 'pane-right' : undefined}
        onClick={onRight}
      >
        <PanelRight size={17} aria-hidden />
      </IconButton>
    </header>
  )
}
