import type { Approval } from '@/api/types'
import { DiffView } from '@/components/DiffView'
import { Highlighted } from '@/components/markdown/Highlighted'
import { CopyButton } from '@/components/ui/CopyButton'
import { Visible } from '@/components/Visible'
import { levelWord } from '@/features/settings/sandbox'
import { prettyJson } from '@/lib/format'
import { useT } from '@/lib/i18n'
import { shownPath } from '@/lib/roots'
import { visible } from '@/lib/visible'

interface Props {
  approval: Approval
  /** Of what would run, as the highlighter names it; empty for text. */
  language: string
}

/** Exactly what the call would do, in full, with invisible characters written out. */
export function ShownCall({ approval, language }: Props) {
  const t = useT()
  const { shown, tool } = approval
  const level = levelWord(shown.level)
  // Without a process there is no sandbox to describe.
  const reaches = shown.level !== '' || approval.effect === 'network'
  const facts = [
    shown.cwd && t('approvalCwd', { cwd: shown.cwd }),
    shown.secrets?.length && t('approvalSecrets', { names: shown.secrets.join(', ') }),
    shown.reads?.length && t('approvalReads', { folders: shown.reads.map(name => `${name}/`).join(', ') }),
    reaches && t(shown.network ? 'approvalNet' : 'approvalNoNet'),
    shown.level && t('approvalLevel', { level: level ? t(level) : shown.level }),
  ].filter(fact => typeof fact === 'string' && fact !== '')
  return (
    <>
      {shown.diff ? (
        <>
          {!shown.path && <Items command={shown.command} />}
          <DiffView
            diff={shown.diff}
            label={
              shown.path
                ? t('approvalDiff', { path: shownPath(shown.path) })
                : t('diffSeveral', { n: shown.command.split('\n').length })
            }
          />
        </>
      ) : (
        <figure aria-label={t('input')} className="overflow-hidden rounded-md border bg-code text-fg">
          <div className="flex items-center justify-between border-b py-0.5 ps-2.5 pe-1 font-mono text-[12px] text-fg-2">
            {tool}
            <CopyButton text={() => shown.command} label={t('copyCode')} />
          </div>
          <pre
            tabIndex={0}
            className="scroll plain max-h-80 whitespace-pre-wrap p-2.5 [overflow-wrap:anywhere]"
          >
            <Command text={shown.command} language={language} />
          </pre>
        </figure>
      )}
      {facts.length > 0 && <p className="font-mono text-[12px] text-fg-2">{facts.join(' · ')}</p>}
    </>
  )
}

/** Each item of a call that changes several files, deletions and moves too, whose text the diff may not show. */
function Items({ command }: { command: string }) {
  const t = useT()
  return (
    <ul
      aria-label={t('approvalItems')}
      tabIndex={0}
      className="scroll max-h-40 overflow-y-auto font-mono text-[12px]"
    >
      {command.split('\n').map((line, i) => (
        <li key={i} className="[overflow-wrap:anywhere]">
          <Visible text={line} />
        </li>
      ))}
    </ul>
  )
}

/** Colours must not hide an invisible character: a text that has one is shown without them. */
function Command({ text, language }: { text: string; language: string }) {
  if (visible(text).some(({ unseen }) => unseen)) return <Visible text={text} />
  const pretty = language ? text : prettyJson(text)
  return <Highlighted code={pretty} language={pretty === text ? language : 'json'} />
}
