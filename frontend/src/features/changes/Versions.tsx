import { Download } from 'lucide-react'
import { changedUrl } from '@/api/endpoints'
import type { ChangedFile, FileVersionFacts, VersionSide } from '@/api/types'
import { kilobytes } from '@/lib/format'
import { type Key, useT } from '@/lib/i18n'
import { shownPath } from '@/lib/roots'

interface Props {
  sessionId: string
  file: ChangedFile
  work: string | null
}

const SIDES: readonly { side: VersionSide; word: Key; none: Key; picture: Key }[] = [
  { side: 'before', word: 'changeBefore', none: 'changeAbsent', picture: 'changePictureBefore' },
  { side: 'after', word: 'changeAfter', none: 'changeGone', picture: 'changePictureAfter' },
]

/** Both versions of a file that is not text: its pictures, or their sizes. */
export function Versions({ sessionId, file, work }: Props) {
  const t = useT()
  return (
    <div className="grid gap-3 md:grid-cols-2">
      {SIDES.map(({ side, word, none, picture }) => {
        const version = file[side]
        const source = changedUrl(sessionId, { path: file.path, side, work })
        return (
          <section key={side} aria-label={t(word)} className="min-w-0 rounded-md border p-3 text-[13px]">
            <h4 className="mb-2 font-medium">{t(word)}</h4>
            {!version && <p className="text-fg-3">{t(none)}</p>}
            {version?.content === 'picture' && (
              <Picture version={version} source={source} label={t(picture, { path: shownPath(file.path) })} />
            )}
            {version && <Size version={version} source={source} name={file.path.split('/').at(-1) ?? ''} />}
          </section>
        )
      })}
    </div>
  )
}

function Picture({ version, source, label }: { version: FileVersionFacts; source: string; label: string }) {
  return (
    <img
      // The address is the same after another change, the content is not.
      key={version.hash}
      src={`${source}&hash=${version.hash}`}
      alt={label}
      width={version.width ?? undefined}
      height={version.height ?? undefined}
      className="mb-2 max-h-[40dvh] w-auto max-w-full rounded-sm border bg-card object-contain"
    />
  )
}

function Size({ version, source, name }: { version: FileVersionFacts; source: string; name: string }) {
  const t = useT()
  if (version.size == null) return null
  const size = version.size < 1000 ? t('bytes', { n: version.size }) : kilobytes(version.size)
  const { width, height, content } = version
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-fg-2 tabular-nums">
      {width != null && height != null ? t('changePictureSize', { width, height, size }) : size}
      {content !== 'too_large' && (
        <a
          href={source}
          download={name}
          className="inline-flex items-center gap-1 text-accent underline-offset-2 hover:underline pointer-coarse:min-h-11"
        >
          <Download size={13} aria-hidden />
          {t('changeDownload')}
        </a>
      )}
    </p>
  )
}
