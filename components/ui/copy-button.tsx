'use client'

import { clsx } from 'clsx'
import { Check, Copy } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'

interface CopyButtonProps {
  text: string
  /** What is copied, for screen readers. */
  what: string
  isSmall?: boolean
  className?: string
}
/** Copies `text` and confirms it after the copy succeeded. */
export function CopyButton({ text, what, isSmall = false, className }: CopyButtonProps) {
  const t = useTranslations('common')
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), 2_000)
    return () => clearTimeout(timer)
  }, [state])
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setState('copied'),
      () => setState('failed'),
    )
  return (
    <button
      type="button"
      onClick={copy}
      className={clsx(
        'inline-flex shrink-0 items-center justify-center rounded-small text-quiet motion-safe:transition-colors duration-100 hover:bg-line/60 hover:text-ink print:hidden',
        isSmall ? 'size-6' : 'size-8',
        className,
      )}
    >
      {state === 'copied' ? (
        <Check aria-hidden className="size-4 text-accent" />
      ) : (
        <Copy aria-hidden className="size-4" />
      )}
      <span className="sr-only">{t('copy', { what })}</span>
      <span role="status" className="sr-only">
        {state === 'copied' ? t('copied') : state === 'failed' ? t('notCopied') : ''}
      </span>
    </button>
  )
}
