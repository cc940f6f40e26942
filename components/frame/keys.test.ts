import { createElement, Suspense, use, useLayoutEffect } from 'react'
import type { Root } from 'react-dom/client'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { runKey, useKeys, useRegisteredKeys } from './keys.ts'

/** The part of the browser's document that React needs for components without elements. */
class Place extends EventTarget {
  textContent = ''
  readonly nodeName = 'DIV'
  readonly tagName = 'DIV'
  readonly nodeType: number
  readonly ownerDocument: Place | null
  readonly querySelector = () => null
  constructor(nodeType: number, ownerDocument: Place | null) {
    super()
    this.nodeType = nodeType
    this.ownerDocument = ownerDocument
  }
}
const browser = new Place(9, null)
const press = (key: string) => browser.dispatchEvent(Object.assign(new Event('keydown', { cancelable: true }), { key }))

let root: Root
let render: (element: Parameters<Root['render']>[0]) => void
beforeAll(async () => {
  vi.stubGlobal('window', globalThis)
  vi.stubGlobal('document', browser)
  // React would look at the window in later tasks, after this file. Nothing here needs them: `flushSync` also runs effects.
  vi.stubGlobal('setImmediate', () => {})
  for (const name of ['Element', 'HTMLIFrameElement']) vi.stubGlobal(name, class {})
  const { createRoot } = await import('react-dom/client')
  const { flushSync } = await import('react-dom')
  root = createRoot(new Place(1, browser) as unknown as HTMLElement)
  render = (element) => flushSync(() => root.render(element))
})
afterAll(async () => {
  render(null)
  // React ends its work in a microtask.
  await new Promise((done) => setTimeout(done))
  vi.unstubAllGlobals()
})

let ran: string[] = []
/** The labels of each help that the browser would show. */
let listed: string[][] = []
beforeEach(() => {
  ran = []
  listed = []
  render(null)
})

/** A list whose shortcuts note their name. */
function List({ name, keys }: { name: string; keys: readonly string[] }) {
  useKeys(keys.map((key) => ({ key, label: `${key} in ${name}`, run: () => ran.push(`${key} in ${name}`) })))
  return null
}
/** Presses keys when React has changed the document and the browser has not shown the change yet. */
function AtOnce({ keys }: { keys: readonly string[] }) {
  useLayoutEffect(() => {
    for (const key of keys) press(key)
  })
  return null
}
function Help() {
  const labels = useRegisteredKeys().flatMap((actions) => actions.map(({ label }) => label))
  useLayoutEffect(() => {
    listed.push(labels)
  })
  return null
}
const never = new Promise<never>(() => {})
const Loading = () => use(never)

const requests = createElement(List, { key: 'requests', name: 'requests', keys: ['j', 'Enter'] })
const members = createElement(List, { key: 'members', name: 'members', keys: ['j'] })

test('a shortcut works as soon as its component is visible', () => {
  render([requests, createElement(AtOnce, { key: 'at-once', keys: ['j', 'Enter'] })])
  expect(ran).toEqual(['j in requests', 'Enter in requests'])
})

test('a key pressed when one list replaces another runs the shortcut of the new list, once', () => {
  render(requests)
  render([members, createElement(AtOnce, { key: 'at-once', keys: ['j', 'Enter'] })])
  expect(ran).toEqual(['j in members'])
})

test('the help lists the shortcuts of the visible list only', () => {
  const help = createElement(Help, { key: 'help' })
  render([requests, help])
  expect(listed.at(-1)).toEqual(['j in requests', 'Enter in requests'])
  render([members, help])
  expect(listed.at(-1)).toEqual(['j in members'])
  expect(listed.filter((labels) => labels.length > 2)).toEqual([])
})

test('a list that React hides while its data loads has no shortcuts', () => {
  const page = (isLoading: boolean) =>
    createElement(Suspense, { fallback: null }, requests, isLoading && createElement(Loading, { key: 'loading' }))
  render(page(false))
  render(page(true))
  press('j')
  runKey('Enter')
  expect(ran).toEqual([])
  render(page(false))
  press('j')
  expect(ran).toEqual(['j in requests'])
})
