'use client'

import type { ComponentProps, KeyboardEvent, ReactNode } from 'react'
import { TextArea } from '#components/ui/field.tsx'

/** Longest text that the API accepts, in characters. */
const longestWords = 4_000

function sendByKeys(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  event.currentTarget.form?.requestSubmit()
}

interface WordsFieldProps extends Omit<ComponentProps<typeof TextArea>, 'onChange' | 'value'> {
  value: string
  change: (text: string) => void
  hint?: ReactNode
}
/** A text for another reader, in its own writing direction. Ctrl or Command with Enter sends it. */
export const WordsField = ({ value, change, ...rest }: WordsFieldProps) => (
  <TextArea
    dir="auto"
    maxLength={longestWords}
    value={value}
    onChange={(event) => change(event.currentTarget.value)}
    onKeyDown={sendByKeys}
    {...rest}
  />
)
