import { Download } from 'lucide-react'
import { useChangedText } from '@/api/changeQueries'
import { type ChangeSource, changedUrl } from '@/api/endpoints'
import type { FileVersionFacts, VersionSide } from '@/api/types'
import { QueryError } from '@/components/ui/QueryError'
import { Visible } from '@/components/Visible'
import { kilobytes } from '@/lib/format'
import { type Key, useT } from '@/lib/i18n'
import { shownPath } from '@/lib/roots'
import type { ShownChange } from './kinds'

interface Props {
  source: ChangeSource
  file: ShownChange
}

const SIDES: readonly { side: VersionSide; word: Key; none: Key; gone: Key; picture: Key }[] = [
  {
    ...{ side: 'before', word: 'changeBefore', none: 'changeAbsent' },
    ...{ gone: 'changeNothing', picture: 'changePictureBefore' },
  },
  {
    ...{ side: 'after', word: 'changeAfter', none: 'changeGone' },
    ...{ gone: 'changeRemoved', picture: 'changePictureAfter' },
  },
]

/** Both versions of what is not text: pictures, the targets of links, or sizes. */
export function Versions({ source, file }: Props) {
  const t = useT()
  const isFile = (version: ShownChange['before']) =>
    version != null && version.content !== 'link' && version.content !== 'folder'
  const ofFile = isFile(file.before) || isFile(file.after)
  return (
    <div className="grid gap-3 md:grid-cols-2">
      {SIDES.map(({ side, word, none, gone, picture }) => {
        const version = file[side]
        const address = changedUrl(source, { path: file.path, side })
        return (
          <section key={side} aria-label={t(word)} className="min-w-0 rounded-md border p-3 text-[13px]">
            <h4 className="mb-2 font-medium">{t(word)}</h4>
            {!version && <p className="text-fg-3">{t(ofFile ? none : gone)}</p>}
            {version?.content === 'folder' && <p className="text-fg-2">{t('changeFolder')}</p>}
            {version?.content === 'link' && (
              <Target source={source} path={file.path} side={side} hash={version.hash} />
            )}
            {version?.content === 'picture' && (
              <Picture
                version={version}
                address={address}
                label={t(picture, { path: shownPath(file.path) })}
              />
            )}
            {version && version.content !== 'link' && (
              <Size version={version} address={address} name={file.path.split('/').at(-1) ?? ''} />
            )}
          </section>
        )
      })}
    </div>
  )
}

interface TargetProps {
  source: ChangeSource
  path: string
  side: VersionSide
  hash: string
}

/** Where a link leads. */
function Target({ source, path, side, hash }: TargetProps) {
  const t = useT()
  const { data, error } = useChangedText(source, { path, side }, hash)
  if (error) return <QueryError error={error} />
  return (
    <p className="text-fg-2">
      {t('changeLink')}{' '}
      <span className="break-all font-mono text-[12px] text-fg">
        <Visible text={data ?? '…'} />
      </span>
    </p>
  )
}

function Picture({ version, address, label }: { version: FileVersionFacts; address: string; label: string }) {
  return (
    <img
      // The address is the same after another change, the content is not.
      key={version.hash}
      src={`${address}&hash=${version.hash}`}
      alt={label}
      width={version.width ?? undefined}
      height={version.height ?? undefined}
      className="mb-2 max-h-[40dvh] w-auto max-w-full rounded-sm border bg-card object-contain"
    />
  )
}

function Size({ version, address, name }: { version: FileVersionFacts; address: string; name: string }) {
  const t = useT()
  if (version.size == null) return null
  const size = version.size < 1000 ? t('bytes', { n: version.size }) : kilobytes(version.size)
  const { width, height, content } = version
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-fg-2 tabular-nums">
      {width != null && height != null ? t('changePictureSize', { width, height, size }) : size}
      {content !== 'too_large' && content !== 'not_kept' && content !== 'dropped' && (
        <a
          href={address}
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
