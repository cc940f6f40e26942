'use client'

import { ChevronDown, Search, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useTyped } from '#components/frame/typed.ts'
import { Button } from './button.tsx'
import { Menu } from './menu.tsx'
import { usePunctuation } from './punctuation.ts'

export interface Facet {
  key: string
  title: string
  options: readonly { value: string; title: string; count?: number }[]
  /** The chosen values. */
  value: readonly string[]
  onChange: (value: string[]) => void
  /** Lets the reader choose several values. */
  isMultiple?: boolean
}
interface FilterBarProps {
  /** A search field; its value is passed on after a pause in typing. */
  search?: { label: string; value: string; onChange: (text: string) => void; placeholder?: string }
  facets?: readonly Facet[]
  /** Other filters, such as a `DateRangePicker`. */
  children?: ReactNode
  /** Shows the button that clears all filters. */
  isFiltered: boolean
  onClear: () => void
}

function FacetChip({ facet: { title, options, value, onChange, isMultiple = false } }: { facet: Facet }) {
  const { colon, list } = usePunctuation()
  const chosen = options.filter((option) => value.includes(option.value))
  const toggle = (one: string) => {
    if (value.includes(one)) onChange(value.filter((other) => other !== one))
    else onChange(isMultiple ? [...value, one] : [one])
  }
  return (
    <Menu
      trigger={
        <Button tone={chosen.length > 0 ? 'accent' : 'plain'} size="small" className="border border-edge">
          <span>
            {title}
            {chosen.length > 0 && (
              <span className="font-normal">{`${colon}${list(chosen.map((one) => one.title))}`}</span>
            )}
          </span>
          <ChevronDown aria-hidden className="size-3.5" />
        </Button>
      }
      items={options.map((option) => ({
        key: option.value,
        isChecked: value.includes(option.value),
        onSelect: () => toggle(option.value),
        label: (
          <span className="flex grow items-baseline justify-between gap-4">
            {option.title}
            {option.count !== undefined && <span className="text-sm text-quiet tabular-nums">{option.count}</span>}
          </span>
        ),
      }))}
    />
  )
}

function SearchField({ label, value, onChange, placeholder }: NonNullable<FilterBarProps['search']>) {
  const { typed, setTyped } = useTyped(value, onChange)
  return (
    <div className="relative w-full sm:w-72">
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-quiet" />
      <input
        data-filter=""
        type="search"
        aria-label={label}
        placeholder={placeholder ?? label}
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        className="min-h-8 w-full rounded-lg border border-edge bg-raised py-1 pr-2 pl-8 text-base placeholder:text-quiet sm:text-sm"
      />
    </div>
  )
}

/** Search and filters of a table: a field, chips with menus, and a button that clears them. The caller keeps the state in the address. */
export function FilterBar({ search, facets = [], children, isFiltered, onClear }: FilterBarProps) {
  const t = useTranslations('common.filters')
  return (
    <search className="flex flex-wrap items-center gap-2">
      {search && <SearchField {...search} />}
      {facets.map((facet) => (
        <FacetChip key={facet.key} facet={facet} />
      ))}
      {children}
      {isFiltered && (
        <Button tone="quiet" size="small" onClick={onClear}>
          <X aria-hidden className="size-4" />
          {t('clear')}
        </Button>
      )}
    </search>
  )
}
