'use client'

import { clsx } from 'clsx'
import { useTranslations } from 'next-intl'
import { type DragEvent, useId, useState } from 'react'
import { TextArea } from '#components/ui/field.tsx'

/** No receipt is larger. */
const maxBytes = 5_000_000

/** A receipt as text: pasted, dropped, or from a file. */
export function ReceiptInput({ text, change }: { text: string; change: (text: string) => void }) {
  const t = useTranslations('verify')
  const fileId = useId()
  const [isOver, setOver] = useState(false)
  const take = async (file: File | undefined) => {
    if (file) change(file.size > maxBytes ? '' : await file.text())
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    void take(event.dataTransfer.files[0])
  }
  return (
    <section
      aria-label={t('field')}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={clsx('grid gap-3 rounded-box', isOver && 'outline-2 outline-offset-4 outline-accent outline-dashed')}
    >
      <TextArea
        label={t('field')}
        hint={t('fieldHint')}
        value={text}
        onChange={({ target }) => change(target.value)}
        rows={5}
        spellCheck={false}
        dir="ltr"
        className="font-mono"
      />
      <p>
        <label
          htmlFor={fileId}
          className="inline-flex min-h-8 cursor-pointer items-center rounded-box border border-edge bg-raised px-3 py-1 text-sm font-medium hover:bg-sunken focus-within:outline-2 focus-within:outline-offset-2 focus-within:outline-accent"
        >
          {t('choose')}
          <input
            id={fileId}
            type="file"
            accept="application/json,.json"
            className="sr-only"
            onChange={({ target }) => {
              void take(target.files?.[0])
              target.value = ''
            }}
          />
        </label>
      </p>
    </section>
  )
}
