import { ArchiveRestore, Download } from 'lucide-react'
import type { ReactNode } from 'react'
import { useStatus } from '@/api/queries'
import { useCommand } from '@/app/useCommand'
import { CommandButton } from '@/components/CommandButton'
import { CopyButton } from '@/components/ui/CopyButton'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'

/** Where everything is stored, and how to export and restore it. */
export function Data() {
  const t = useT()
  const status = useStatus().data
  const canExport = useCommand('exportMd').enabled
  if (!status) return <Skeleton label={t('loading')} />
  const { home, in_database: inDatabase } = status
  return (
    <div className="space-y-2.5 text-fg-2 text-small">
      <div>
        <p>{t(inDatabase ? 'dataInDatabase' : 'dataHome')}</p>
        <p className="mt-1 inline-flex max-w-full items-center rounded-md border bg-code ps-2 text-fg">
          <code className="min-w-0 font-mono text-[12px] [overflow-wrap:anywhere]">{home}</code>
          <CopyButton label={t('dataCopyHome')} text={() => home} />
        </p>
      </div>
      <Row words={t('dataRecoveryHint')}>
        <CommandButton command="recovery" size="small">
          <ArchiveRestore size={13} aria-hidden />
          {t('recovery')}
        </CommandButton>
      </Row>
      {canExport && (
        <Row words={t('dataExportHint')}>
          {(['exportMd', 'exportJson'] as const).map(command => (
            <CommandButton key={command} command={command} size="small">
              <Download size={13} aria-hidden />
              {t(command)}
            </CommandButton>
          ))}
        </Row>
      )}
    </div>
  )
}

const Row = ({ words, children }: { words: string; children: ReactNode }) => (
  <div>
    <p className="mb-1">{words}</p>
    <div className="flex flex-wrap gap-2">{children}</div>
  </div>
)
