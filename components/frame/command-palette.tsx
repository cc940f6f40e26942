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

/** Pages without a use in the palette of a signed-in person. */
const hidden: ReadonlySet<PageName> = new Set(['signIn', 'forgotten', 'newPassword', 'confirm', 'home'])
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
  const { hits, problem, isSearching } = useHits(text)
  const toggle = (isOpen: boolean) => {
    if (!isOpen) setText('')
    onOpenChange(isOpen)
  }
  const go = (path: string) => {
    toggle(false)
    router.push(path)
  }
  const sought = text.trim().toLowerCase()
  const isMatch = (...texts: string[]) => texts.some((one) => one.toLowerCase().includes(sought))
  const places = pages.filter(
    (entry: PageEntry & { name: PageName }) =>
      !hasNames(entry) && mayOpen(entry, role) && !hidden.has(entry.name) && isMatch(names(entry.name), entry.path),
  )
  const actions = actionsOf(role).filter(({ name }) => isMatch(t(`actionNames.${name}`)))
  const isNothing = places.length + actions.length + hits.length === 0 && !isSearching && !problem
  return (
    <Dialog open={open} onOpenChange={toggle} title={t('paletteTitle')}>
      <Command label={t('paletteTitle')} loop shouldFilter={false} className="grid gap-3">
        <div className="relative">
          <Command.Input
            autoFocus
            value={text}
            onValueChange={setText}
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
                <Item
                  key={`${hit.kind} ${hit.id}`}
                  value={`${hit.kind} ${hit.id}`}
                  onSelect={() => go(hitPage(hit, role))}
                >
                  <Hit hit={hit} />
                </Item>
              ))}
            </Command.Group>
          )}
          {places.length > 0 && (
            <Command.Group heading={t('pages')} className={groupLook}>
              {places.map((entry: PageEntry & { name: PageName }) => (
                <Item key={entry.name} value={`page ${entry.name}`} onSelect={() => go(entry.path)}>
                  {names(entry.name)}
                  {entry.keys && <kbd className="font-mono text-sm text-quiet">{entry.keys}</kbd>}
                </Item>
              ))}
            </Command.Group>
          )}
          {actions.length > 0 && (
            <Command.Group heading={t('actions')} className={groupLook}>
              {actions.map(({ name, href }) => (
                <Item key={name} value={`action ${name}`} onSelect={() => go(href)}>
                  {t(`actionNames.${name}`)}
                </Item>
              ))}
            </Command.Group>
          )}
        </Command.List>
      </Command>
    </Dialog>
  )
}
