import { type ReactNode, useId } from 'react'
import { ErrorText } from './ErrorText'

interface Described {
  id: string
  'aria-describedby': string
}

interface Props {
  label: string
  hint: string
  /** At the end of the line of the label. */
  action?: ReactNode
  /** At the end of the line below the field. */
  end?: string | undefined
  /** Takes the place of the hint. */
  error: string | null
  children: (described: Described, labelId: string) => ReactNode
}

/** A field of a form with its label, and below it what to write, or why it cannot be used. */
export function Field({ label, hint, action, end, error, children }: Props) {
  const id = useId()
  return (
    <div className="text-[13px]">
      <div className="mb-1 flex min-h-6 items-center gap-1">
        <label id={`${id}-label`} htmlFor={id} className="block font-medium">
          {label}
        </label>
        {action}
      </div>
      {children({ id, 'aria-describedby': `${id}-hint` }, `${id}-label`)}
      <div id={`${id}-hint`} className="mt-1 flex gap-3 text-small">
        {error ? (
          <ErrorText className="flex-1">{error}</ErrorText>
        ) : (
          <p className="min-w-0 flex-1 text-fg-3">{hint}</p>
        )}
        {end && <span className={error ? 'text-bad tabular-nums' : 'text-fg-3 tabular-nums'}>{end}</span>}
      </div>
    </div>
  )
}
