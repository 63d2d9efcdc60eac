import { BookOpen, ChartColumn, Code, Keyboard, ScanSearch, Settings } from 'lucide-react'
import type { TokenCount } from '@/api/endpoints'
import type { Status } from '@/api/types'
import { useRun } from '@/app/useCommand'
import { CommandButton, CommandIconButton } from '@/components/CommandButton'
import { Button } from '@/components/ui/Button'
import { Switch } from '@/components/ui/Switch'
import { ModelLine } from '@/features/model/ModelLine'
import { cn } from '@/lib/cn'
import { type Key, useT } from '@/lib/i18n'
import type { ShownConnection } from '@/stores/live'
import { ContextMeter } from './ContextMeter'

const LINK: Record<ShownConnection, { word: Key; dot: string }> = {
  open: { word: 'connected', dot: 'bg-ok' },
  connecting: { word: 'connecting', dot: 'bg-warn' },
  lost: { word: 'disconnected', dot: 'bg-bad' },
  signedOut: { word: 'signedOut', dot: 'bg-warn' },
}

interface Props {
  status: Status | undefined
  /** Of the next request; null until it is counted. */
  size: TokenCount | null
  connection: ShownConnection
  /** Null if there is no session whose messages could be shown. */
  raw: { shown: boolean; toggle: () => void } | null
}

export function SidebarFooter({ status, size, connection, raw }: Props) {
  const t = useT()
  const run = useRun()
  const { word, dot } = LINK[connection]
  return (
    <div className="space-y-2.5 border-t p-3">
      <div className="flex flex-wrap gap-1.5">
        <Switch
          on={status?.rag_mode ?? false}
          onChange={on => run(on ? 'ragOn' : 'ragOff')}
          disabled={!status}
          label={t('rag')}
          hint={t('ragHint')}
          icon={<BookOpen size={13} aria-hidden />}
        >
          {t('ragShort')}
        </Switch>
        <Button
          size="small"
          round
          look="ghost"
          aria-pressed={raw?.shown ?? false}
          disabled={!raw}
          aria-label={t('raw')}
          title={t('rawHint')}
          onClick={() => raw?.toggle()}
        >
          <Code size={13} aria-hidden />
          {t('rawShort')}
        </Button>
        <CommandButton
          command="xray"
          size="small"
          round
          look="ghost"
          aria-label={t('xray')}
          title={t('xrayHint')}
        >
          <ScanSearch size={13} aria-hidden />
          {t('xrayShort')}
        </CommandButton>
      </div>
      <ContextMeter size={size} />
      <ModelLine model={status?.model} />
      <div className="flex items-center gap-2 px-1 text-fg-3 text-meta">
        <span aria-hidden className={cn('size-2 shrink-0 rounded-full', dot)} />
        <span className="me-auto">{t(word)}</span>
        {status && <span className="tabular-nums">v{status.version}</span>}
        <CommandIconButton command="shortcuts" size="smallIcon">
          <Keyboard size={15} aria-hidden />
        </CommandIconButton>
        <CommandIconButton command="usage" size="smallIcon">
          <ChartColumn size={15} aria-hidden />
        </CommandIconButton>
        <CommandIconButton command="settings" size="smallIcon">
          <Settings size={15} aria-hidden />
        </CommandIconButton>
      </div>
    </div>
  )
}
