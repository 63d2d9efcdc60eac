import { RotateCcw } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { hasCode } from '@/api/client'
import { useStatus } from '@/api/queries'
import type { Setting } from '@/api/types'
import { Button, IconButton } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { type Key, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { change, labelOf, loosens } from './config'
import { SettingControl } from './SettingControl'

/** The file's name is its own in every language. */
const SOURCES: Record<Exclude<Setting['source'], 'config.yml'>, Key> = {
  default: 'sourceDefault',
  environment: 'sourceEnvironment',
  'command line': 'sourceCommandLine',
}

/** A setting with its name in config.yml, where its value comes from, and when a change applies. */
export function SettingRow({ setting }: { setting: Setting }) {
  const t = useT()
  const id = useId()
  /** A value that makes the server less safe, until a person confirms it. */
  const [unconfirmed, setUnconfirmed] = useState<{ value: unknown } | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const { key, source } = setting
  const inCluster = useStatus().data?.in_cluster === true
  const fixed = inCluster || source === 'environment' || source === 'command line'
  const label = labelOf(key, t)
  const row = useRef<HTMLDivElement>(null)
  /** The button that has the focus is about to vanish. A touch screen would show its keyboard. */
  const toControl = () => {
    if (!matchMedia('(pointer: coarse)').matches)
      row.current?.querySelector<HTMLElement>('input, select')?.focus()
  }
  const set = async (value: unknown, confirmed: boolean) => {
    setProblem(null)
    setUnconfirmed(null)
    try {
      await change(key, value, confirmed)
    } catch (error) {
      if (hasCode(error, 'confirm_loosening')) setUnconfirmed({ value })
      else setProblem(reasonOf(error))
    }
  }
  const ask = (value: unknown) =>
    loosens(setting, value) ? setUnconfirmed({ value }) : void set(value, false)
  return (
    <div ref={row} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2 text-small" data-setting={key}>
      <div className="min-w-[18ch] flex-1">
        <p id={id}>{label}</p>
        <p className="flex flex-wrap gap-x-1.5 text-fg-3 text-meta">
          <code className="font-mono">{key}</code>
          <span>· {source === 'config.yml' ? source : t(SOURCES[source])}</span>
          {setting.restart_needed && <span>· {t('afterRestart')}</span>}
        </p>
      </div>
      <div className="flex max-w-full items-center gap-1">
        <SettingControl setting={setting} labelledBy={id} disabled={fixed} onSet={ask} />
        {source === 'config.yml' && !fixed && (
          <IconButton
            size="smallIcon"
            label={t('settingReset', { name: label })}
            onClick={() => {
              toControl()
              void set(null, false)
            }}
          >
            <RotateCcw size={13} aria-hidden />
          </IconButton>
        )}
      </div>
      {unconfirmed && (
        <div
          role="alert"
          className="flex w-full flex-wrap items-center gap-2 rounded-md border border-warn-line bg-warn-soft px-2.5 py-1.5 text-warn"
        >
          <p className="min-w-[24ch] flex-1">{t('loosensSure')}</p>
          <Button
            size="small"
            onClick={() => {
              toControl()
              setUnconfirmed(null)
            }}
          >
            {t('cancel')}
          </Button>
          <Button
            size="small"
            look="danger"
            onClick={() => {
              toControl()
              void set(unconfirmed.value, true)
            }}
          >
            {t('loosensConfirm')}
          </Button>
        </div>
      )}
      {problem && <ErrorText className="w-full">{problem}</ErrorText>}
    </div>
  )
}
