import { Download } from 'lucide-react'
import { useState } from 'react'
import { Unreadable } from '@/components/Unreadable'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { FileRef } from '@/lib/roots'
import { bytesAddress, downloadBytes } from './bytes'

/** Pictures that the server tells from their bytes, and a browser shows. */
const PICTURE = /\.(png|jpe?g|gif|webp)$/i

interface Props {
  file: FileRef
  /** Why it cannot be edited; null if it is not text. */
  reason: string | null
}

/** A file of a project that is not text: a picture is shown, and any file can be downloaded. */
export default function ProjectFileView({ file, reason }: Props) {
  const t = useT()
  const [broken, setBroken] = useState(false)
  const isPicture = PICTURE.test(file.path) && !broken
  return (
    <section aria-label={file.shown} className="flex min-h-0 flex-1 flex-col">
      <div className="flex items-center gap-2 border-y px-3 py-1.5">
        <span className="min-w-0 flex-1 truncate font-mono text-[12px]" title={file.shown}>
          {file.shown}
        </span>
        <Button size="small" onClick={() => downloadBytes(file)}>
          <Download size={13} aria-hidden />
          {t('downloadFile')}
        </Button>
      </div>
      {isPicture ? (
        <div className="scroll grid min-h-0 flex-1 place-items-center p-3">
          <img
            src={bytesAddress(file)}
            alt={t('pictureOf', { path: file.shown })}
            onError={() => setBroken(true)}
            className="max-h-full max-w-full object-contain"
          />
        </div>
      ) : reason === null ? (
        <p className="m-auto p-6 text-center text-fg-3 text-small">{t('binaryFile')}</p>
      ) : (
        <Unreadable reason={reason} />
      )}
    </section>
  )
}
