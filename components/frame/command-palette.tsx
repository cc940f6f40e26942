'use client'

import { Command } from 'cmdk'
import { LoaderCircle } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { Dialog } from '#components/ui/dialog.tsx'
import { inputLook } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import type { SearchHit } from '#lib/domains/console/contract.ts'
import { requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import { useApiQuery } from './api-query.ts'
import { hasNames, mayOpen, type PageEntry, type PageName, pages } from './pages.ts'
import { actionsOf } from './palette-actions.ts'
import { hitPage, searchAt } from './search-hits.ts'
import { useSettled } from './typed.ts'

interface CommandPaletteProps {
  open: boolean
  onOpenChange: (open: boolean) => void
  role: Role
}

/** Pages without a use in the palette of a signed-in person, and pages that only a link in an email or in another site opens. */
const hidden: ReadonlySet<PageName> = new Set([
  'signIn',
  'forgotten',
  'newPassword',
  'confirm',
  'home',
  'unsubscribe',
  'publicForm',
  'formConfirm',
  'formStatus',
  'formEmbed',
])
/** Most pages that the palette remembers in this browser. */
const maxRecent = 5
/** Actions that it shows before a text is typed. */
const maxActions = 16
const recentKey = 'palette-recent'
/** The addresses of the pages that were opened last with the palette. */
function readRecent(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(recentKey) ?? '[]')
    return Array.isArray(stored) ? stored.filter((path): path is string => typeof path === 'string') : []
  } catch {
    return []
  }
}
function remember(path: string): void {
  try {
    localStorage.setItem(
      recentKey,
      JSON.stringify([path, ...readRecent().filter((one) => one !== path)].slice(0, maxRecent)),
    )
  } catch {
    // Storage is full or blocked: the palette works without it.
  }
}
/** Milliseconds after the last key press until the search begins. */
const pause = 120
const shortest = 2
const groupLook =
  '[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:pt-3 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-sm [&_[cmdk-group-heading]]:text-quiet'

function Item({ value, onSelect, children }: { value: string; onSelect: () => void; children: ReactNode }) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex min-h-9 items-center justify-between gap-4 rounded-small px-3 py-1.5 data-[selected=true]:bg-sunken"
    >
      {children}
    </Command.Item>
  )
}

const hitValue = ({ kind, id }: SearchHit): string => `${kind} ${id}`

/** A result with its kind and what distinguishes it. */
function Hit({ hit }: { hit: SearchHit }) {
  const t = useTranslations('frame')
  const kindName = useTranslations('requestNames.kinds')
  const { list } = usePunctuation()
  const asked = requestKinds.filter((kind) => hit.request_kinds.includes(kind))
  return (
    <>
      <span className="grid min-w-0">
        <span className="truncate">{hit.title}</span>
        {hit.detail !== null && <span className="truncate text-sm text-quiet">{hit.detail}</span>}
      </span>
      <span className="shrink-0 text-sm text-quiet">
        {asked.length > 0 ? list(asked.map((kind) => kindName(kind))) : t(`hitKinds.${hit.kind}`)}
      </span>
    </>
  )
}

/** The results of the server; the last ones stay until the next arrive. */
function useHits(text: string) {
  const q = useSettled(text.trim(), pause)
  const isEnabled = q.length >= shortest
  const { data, problem, isFetching } = useApiQuery(searchAt, { query: { q } }, { enabled: isEnabled })
  const [last, setLast] = useState<readonly SearchHit[]>([])
  const shown = isEnabled ? (data?.data ?? last) : []
  if (data && data.data !== last) setLast(data.data)
  return { hits: shown, problem: isEnabled ? problem : undefined, isSearching: isEnabled && isFetching }
}

/** Finds pages, actions, and records of the reader's own and of their role, by name, words or id. */
export function CommandPalette({ open, onOpenChange, role }: CommandPaletteProps) {
  const t = useTranslations('frame')
  const names = useTranslations('pages')
  const router = useRouter()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState('')
  const { hits, problem, isSearching } = useHits(text)
  const toggle = (isOpen: boolean) => {
    if (!isOpen) setText('')
    onOpenChange(isOpen)
  }
  const go = (path: string) => {
    toggle(false)
    remember(path)
    router.push(path)
  }
  const sought = text.trim().toLowerCase()
  const words = sought.split(/\s+/)
  /** Every word occurs in one of the texts. */
  const isMatch = (...texts: string[]) => {
    const all = texts.join(' ').toLowerCase()
    return words.every((word) => all.includes(word))
  }
  const places = pages.filter(
    (entry: PageEntry & { name: PageName }) =>
      !hasNames(entry) && mayOpen(entry, role) && !hidden.has(entry.name) && isMatch(names(entry.name), entry.path),
  )
  // Without a text, the pages opened last come first, then what one does often.
  const isBegun = sought !== ''
  const actions = actionsOf(role)
    .filter(({ name }) => isMatch(t(`actionNames.${name}`), t(`actionSynonyms.${name}`)))
    .slice(0, isBegun ? undefined : maxActions)
  const opened = isBegun || !open ? [] : readRecent()
  const recent = opened.flatMap((path) => places.find((entry) => entry.path === path) ?? [])
  const others = places.filter((entry) => !recent.includes(entry))
  const isNothing = places.length + actions.length + hits.length === 0 && !isSearching && !problem
  const values = [
    ...hits.map(hitValue),
    ...recent.map(({ name }) => `recent ${name}`),
    ...(isBegun ? [] : actions.map(({ name }) => `action ${name}`)),
    ...others.map(({ name }) => `page ${name}`),
    ...(isBegun ? actions.map(({ name }) => `action ${name}`) : []),
  ]
  const actionGroup = actions.length > 0 && (
    <Command.Group heading={t('actions')} className={groupLook}>
      {actions.map(({ name, href }) => (
        <Item key={name} value={`action ${name}`} onSelect={() => go(href)}>
          {t(`actionNames.${name}`)}
        </Item>
      ))}
    </Command.Group>
  )
  return (
    <Dialog open={open} onOpenChange={toggle} title={t('paletteTitle')}>
      <Command
        label={t('paletteTitle')}
        loop
        shouldFilter={false}
        // The first one until an arrow key chooses another, also when results arrive or disappear.
        value={values.includes(chosen) ? chosen : (values[0] ?? '')}
        onValueChange={setChosen}
        className="grid gap-3"
      >
        <div className="relative">
          <Command.Input
            autoFocus
            value={text}
            onValueChange={(typed) => {
              setText(typed)
              setChosen('')
            }}
            maxLength={200}
            placeholder={t('palette')}
            className={inputLook}
          />
          {isSearching && (
            <LoaderCircle aria-hidden className="absolute top-3 right-3 size-4 text-quiet motion-safe:animate-spin" />
          )}
        </div>
        <Command.List className="max-h-[55vh] overflow-y-auto">
          {problem && <ProblemAlert problem={problem} />}
          {isNothing && (
            <p role="status" className="px-3 py-4 text-quiet">
              {t('paletteEmpty')}
            </p>
          )}
          {hits.length > 0 && (
            <Command.Group heading={t('results')} className={groupLook}>
              {hits.map((hit) => (
                <Item key={hitValue(hit)} value={hitValue(hit)} onSelect={() => go(hitPage(hit, role))}>
                  <Hit hit={hit} />
                </Item>
              ))}
            </Command.Group>
          )}
          {recent.length > 0 && (
            <Command.Group heading={t('recent')} className={groupLook}>
              {recent.map((entry: PageEntry & { name: PageName }) => (
                <Item key={entry.name} value={`recent ${entry.name}`} onSelect={() => go(entry.path)}>
                  {names(entry.name)}
                  {entry.keys && <kbd className="font-mono text-sm text-quiet">{entry.keys}</kbd>}
                </Item>
              ))}
            </Command.Group>
          )}
          {!isBegun && actionGroup}
          {others.length > 0 && (
            <Command.Group heading={t('pages')} className={groupLook}>
              {others.map((entry: PageEntry & { name: PageName }) => (
                <Item key={entry.name} value={`page ${entry.name}`} onSelect={() => go(entry.path)}>
                  {names(entry.name)}
                  {entry.keys && <kbd className="font-mono text-sm text-quiet">{entry.keys}</kbd>}
                </Item>
              ))}
            </Command.Group>
          )}
          {isBegun && actionGroup}
        </Command.List>
      </Command>
    </Dialog>
  )
}
