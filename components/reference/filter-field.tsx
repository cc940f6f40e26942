'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useRef } from 'react'
import { inputLook } from '#components/ui/field.tsx'

/** Writes what is typed into the address, which is what filters; a form, so that it works before the page is alive. */
export function FilterField({ query }: { query: string }) {
  const t = useTranslations('reference')
  const router = useRouter()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const input = useRef<HTMLInputElement>(null)

  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      input.current?.focus()
    }
    document.addEventListener('keydown', focus)
    return () => {
      document.removeEventListener('keydown', focus)
      clearTimeout(timer.current)
    }
  }, [])

  const filter = (text: string) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      router.replace(text.trim() ? `/docs/api?q=${encodeURIComponent(text.trim())}` : '/docs/api', { scroll: false })
    }, 150)
  }
  return (
    <search>
      <form action="/docs/api" className="grid gap-1.5">
        <label htmlFor="reference-filter" className="font-medium">
          {t('filter')}
        </label>
        <input
          ref={input}
          id="reference-filter"
          name="q"
          type="search"
          defaultValue={query}
          onChange={(event) => filter(event.target.value)}
          placeholder={t('filterHint')}
          autoComplete="off"
          spellCheck={false}
          className={inputLook}
        />
      </form>
    </search>
  )
}
