'use client'

import { useTranslations } from 'next-intl'
import { useCallback, useRef } from 'react'
import { useKeys } from '#components/frame/keys.ts'
import { useQueryState } from '#components/frame/query-state.ts'
import { useTyped } from '#components/frame/typed.ts'
import { Field } from '#components/ui/field.tsx'

/** Writes the search text to the address, which does the filtering. A form, so that it works before hydration. */
export function FilterField() {
  const t = useTranslations('reference')
  const keys = useTranslations('common.keys')
  const input = useRef<HTMLInputElement>(null)
  const [query, setQuery] = useQueryState('q', { shallow: false })
  const pass = useCallback((text: string) => void setQuery(text || null), [setQuery])
  const { typed, setTyped } = useTyped(query ?? '', pass)
  useKeys([{ key: '/', label: keys('filter'), run: () => input.current?.focus() }])
  return (
    <search>
      <form action="/docs/api">
        <Field
          ref={input}
          label={t('filter')}
          name="q"
          type="search"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          placeholder={t('filterHint')}
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
        />
      </form>
    </search>
  )
}
