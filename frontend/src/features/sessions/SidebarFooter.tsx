import { BookOpen, ChartColumn, Code, Keyboard, ScanSearch, Settings } from 'lucide-react'
import type { TokenCount } from '@/api/endpoints'
import type { Status } from '@/api/types'
import { useHint } from '@/app/hint'
import { Button, IconButton } from '@/components/ui/Button'
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
  tokens: TokenCount | null
  connection: ShownConnection
  /** Null if there is no session whose messages could be shown. */
  raw: { shown: boolean; toggle: () => void } | null
  onRag: (on: boolean) => void
  onCompress: (() => void) | null
  onModel: () => void
  onXray: () => void
  onShortcuts: () => void
  onSettings: () => void
  onUsage: () => void
}

export function SidebarFooter(props: Props) {
  const {
    status,
    tokens,
    connection,
    raw,
    onRag,
    onCompress,
    onModel,
    onXray,
    onShortcuts,
    onSettings,
    onUsage,
  } = props
  const t = useT()
  const hint = useHint()
  const { word, dot } = LINK[connection]
  return (
    <div className="space-y-2.5 border-t p-3">
      <div className="flex flex-wrap gap-1.5">
        <Switch
          on={status?.rag_mode ?? false}
          onChange={onRag}
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
        <Button size="small" round look="ghost" aria-label={t('xray')} title={t('xrayHint')} onClick={onXray}>
          <ScanSearch size={13} aria-hidden />
          {t('xrayShort')}
        </Button>
      </div>
      <ContextMeter count={tokens} window={status?.model.context_window ?? 0} onCompress={onCompress} />
      <ModelLine model={status?.model} onOpen={onModel} />
      <div className="flex items-center gap-2 px-1 text-fg-3 text-meta">
        <span aria-hidden className={cn('size-2 shrink-0 rounded-full', dot)} />
        <span className="me-auto">{t(word)}</span>
        {status && <span className="tabular-nums">v{status.version}</span>}
        <IconButton
          label={t('shortcuts')}
          title={hint(t('shortcuts'), 'shortcuts')}
          size="smallIcon"
          onClick={onShortcuts}
        >
          <Keyboard size={15} aria-hidden />
        </IconButton>
        <IconButton label={t('usage')} size="smallIcon" onClick={onUsage}>
          <ChartColumn size={15} aria-hidden />
        </IconButton>
        <IconButton
          label={t('settings')}
          title={hint(t('settings'), 'settings')}
          size="smallIcon"
          onClick={onSettings}
        >
          <Settings size={15} aria-hidden />
        </IconButton>
      </div>
    </div>
  )
}
