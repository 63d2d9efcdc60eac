import {
  BookOpen,
  ChartColumn,
  ChevronDown,
  ChevronUp,
  Code,
  Keyboard,
  ScanSearch,
  Settings,
} from 'lucide-react'
import { useState } from 'react'
import type { TokenCount } from '@/api/endpoints'
import type { Status } from '@/api/types'
import { useRun } from '@/app/useCommand'
import { CommandButton, CommandIconButton } from '@/components/CommandButton'
import { Button, IconButton } from '@/components/ui/Button'
import { Switch } from '@/components/ui/Switch'
import { ModelLine } from '@/features/model/ModelLine'
import { cn } from '@/lib/cn'
import { type Key, useT } from '@/lib/i18n'
import { useMedia } from '@/lib/useMedia'
import type { ShownConnection } from '@/stores/live'
import { useUi } from '@/stores/ui'
import { ContextMeter, ContextMeterLine } from './ContextMeter'

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

/** A window so low that the status area would leave the conversations no room. */
const LOW = '(max-height: 600px)'

/** Whether the status area is shown whole. In a low window it is folded until it is opened, and that is not stored. */
function useStatusOpen(): [open: boolean, toggle: () => void] {
  const low = useMedia(LOW)
  const kept = useUi(ui => ui.statusOpen)
  const [openLow, setOpenLow] = useState(false)
  return low ? [openLow, () => setOpenLow(!openLow)] : [kept, () => useUi.setState({ statusOpen: !kept })]
}

export function SidebarFooter(props: Props) {
  const { status, size, connection } = props
  const t = useT()
  const [open, toggle] = useStatusOpen()
  const { word, dot } = LINK[connection]
  return (
    <div
      id="status-area"
      className={cn('scroll shrink-0 border-t', open ? 'max-h-[50dvh] space-y-2.5 p-3' : 'px-3 py-1.5')}
    >
      {open && <StatusDetails {...props} />}
      <div className="flex items-center gap-x-2 px-1 text-fg-3 text-meta pointer-coarse:flex-wrap">
        <span aria-hidden className={cn('size-2 shrink-0 rounded-full', dot)} />
        <span className={cn('shrink-0', open && 'me-auto')}>{t(word)}</span>
        {open && status && (
          <span className="@max-[260px]:hidden min-w-0 truncate tabular-nums">v{status.version}</span>
        )}
        {!open && <ContextMeterLine size={size} />}
        <span className="-me-1 flex shrink-0 items-center pointer-fine:gap-x-0.5">
          {open && (
            <>
              <CommandIconButton command="shortcuts" size="smallIcon">
                <Keyboard size={15} aria-hidden />
              </CommandIconButton>
              <CommandIconButton command="usage" size="smallIcon">
                <ChartColumn size={15} aria-hidden />
              </CommandIconButton>
            </>
          )}
          <CommandIconButton command="settings" size="smallIcon">
            <Settings size={15} aria-hidden />
          </CommandIconButton>
          <IconButton
            label={t('toggleStatus')}
            size="smallIcon"
            aria-expanded={open}
            aria-controls="status-area"
            onClick={toggle}
          >
            {open ? <ChevronDown size={15} aria-hidden /> : <ChevronUp size={15} aria-hidden />}
          </IconButton>
        </span>
      </div>
    </div>
  )
}

/** What the folded status area leaves out. */
function StatusDetails({ status, size, raw }: Props) {
  const t = useT()
  const run = useRun()
  return (
    <>
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
    </>
  )
}
