import { useCommandContext } from '@/app/commandContext'
import { Badge } from '@/components/ui/Badge'
import { CopyButton } from '@/components/ui/CopyButton'
import { Visible } from '@/components/Visible'
import { FileChip } from '@/features/attach/FileChip'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { Contacts } from '../Contacts'
import { CallInput, CallOutput } from './CallText'
import { failedItems, picturesOf, type RanCommand, ranCommands } from './callData'
import type { ToolDetailsProps } from './renderer'

/**
 * Commands one by one, each with its exit code and output; for other calls, the items that failed and why, and the pictures
 * that were read.
 */
export default function ProjectDetails({ step }: ToolDetailsProps) {
  const commands = ranCommands(step)
  return (
    <>
      {commands ? (
        <ol className="space-y-2">
          {commands.map((command, i) => (
            <li key={i}>
              <CommandResult command={command} />
            </li>
          ))}
        </ol>
      ) : (
        <>
          <CallInput step={step} />
          <FailedItems step={step} />
        </>
      )}
      <ReadPictures step={step} />
      <Contacts result={step.result} />
      {!commands && <CallOutput step={step} format="plain" />}
    </>
  )
}

function CommandResult({ command: { instruction, folder, exitCode, output } }: { command: RanCommand }) {
  const t = useT()
  return (
    <section aria-label={instruction} className="overflow-hidden rounded-md border bg-code">
      <div className="flex items-start gap-2 border-b py-1 ps-2.5 pe-1 font-mono text-[12px]">
        <span className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
          {folder && <span className="text-fg-3">{folder} </span>}
          <Visible text={instruction} />
        </span>
        <Badge tone={exitCode === null ? 'plain' : exitCode === 0 ? 'ok' : 'bad'}>
          {exitCode === null ? t('commandNotRun') : t('exitCode', { code: exitCode })}
        </Badge>
        {output && <CopyButton text={() => output} label={t('output')} />}
      </div>
      {exitCode !== null && (
        <pre
          tabIndex={0}
          className="scroll plain max-h-80 whitespace-pre-wrap p-2.5 [overflow-wrap:anywhere]"
        >
          {output || <span className="text-fg-3">{t('noOutput')}</span>}
        </pre>
      )}
    </section>
  )
}

function ReadPictures({ step }: Pick<ToolDetailsProps, 'step'>) {
  const t = useT()
  const { sessionId } = useCommandContext()
  const pictures = sessionId ? picturesOf(step, sessionId) : []
  if (pictures.length === 0) return null
  return (
    <ul aria-label={t('readPictures')} className="flex flex-wrap gap-1.5">
      {pictures.map(file => (
        <li key={file.name} className="max-w-full">
          <FileChip file={file} />
        </li>
      ))}
    </ul>
  )
}

function FailedItems({ step }: Pick<ToolDetailsProps, 'step'>) {
  const t = useT()
  const failed = failedItems(step)
  if (failed.length === 0) return null
  return (
    <ul aria-label={t('itemResults')} className="space-y-0.5 font-mono text-[12px] text-bad">
      {failed.map(({ name, reason }, i) => (
        <li key={i} className="[overflow-wrap:anywhere]">
          <Visible text={reason ? `${name}: ${reason}` : name} />
        </li>
      ))}
    </ul>
  )
}
