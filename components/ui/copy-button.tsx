'use client'

import { Check, Copy } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { classNames } from './class-names.ts'

/** Copies `text`; says so once it is true. `what` names it for who cannot see where the button stands. */
export function CopyButton({ text, what, className }: { text: string; what: string; className?: string }) {
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
      className={classNames(
        'inline-flex size-8 shrink-0 items-center justify-center rounded-small text-quiet motion-safe:transition-colors duration-100 hover:bg-line/60 hover:text-ink print:hidden',
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
