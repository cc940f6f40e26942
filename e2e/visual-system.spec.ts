import { type Browser, expect, type Page, test } from '@playwright/test'
import { type PageEntry, type PageName, pages } from '#components/frame/pages.ts'
import { sampled, sampleSeed } from '#lib/testing/sampling.ts'
import { type BrowserSession, sessionOf } from './control.ts'
import { origin } from './credentials.ts'
import { alive } from './journey.ts'
import { addresses, areaOf, people } from './requests.ts'

/** The heights of buttons, fields and selects: beside a value, in a bar, and in a form. */
const heights = [24, 32, 40]

let at: Record<PageName, string>
const sessions: Partial<Record<PageEntry['area'], BrowserSession>> = {}
test.beforeAll(async () => {
  at = await addresses()
  sessions.you = await sessionOf(people.person)
  sessions.admin = await sessionOf(people.admin)
})
const opened = async (browser: Browser, area: PageEntry['area']) => {
  const session = sessions[area]
  const context = await browser.newContext({
    baseURL: origin,
    viewport: { width: 1280, height: 900 },
    ...(session && { storageState: session }),
  })
  return context.newPage()
}

/**
 * Buttons, links that look like buttons, fields and selects that are visible, with another height than the three. Texts that act as buttons
 * inside a row, and boxes that are chosen as a whole, have no height of their own.
 */
const otherControls = (page: Page) =>
  page.evaluate((allowed) => {
    const isControl = (element: Element): boolean => {
      const look = getComputedStyle(element)
      const hasBox = look.borderTopWidth !== '0px' || look.backgroundColor !== 'rgba(0, 0, 0, 0)'
      if (element.matches('button[aria-pressed]')) return false
      return element.matches('input, select') || hasBox || (element.textContent ?? '').trim() === ''
    }
    return [
      ...document.querySelectorAll(
        'button, select, a[class*="rounded-lg"], input:not([type=hidden], [tabindex="-1"], [type=checkbox], [type=radio], [type=file], [type=range])',
      ),
    ].flatMap((element) => {
      const { height, width } = element.getBoundingClientRect()
      // A label of two lines on a narrow place is higher, and elements for screen readers only have one pixel.
      if (width < 2 || !element.checkVisibility({ visibilityProperty: true }) || !isControl(element)) return []
      return allowed.includes(Math.round(height)) ? [] : [`${Math.round(height)} ${element.outerHTML.slice(0, 200)}`]
    })
  }, heights)

/** Links in the text of a page that look like text. */
const hiddenLinks = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('main a[href]')].flatMap((link) => {
      const look = getComputedStyle(link)
      // A tile is a link as a whole, and a heading links to itself.
      const isBox =
        link.matches('h1 a, h2 a, h3 a, h4 a, [class*="after:inset-0"]') ||
        look.borderTopWidth !== '0px' ||
        /flex|grid|block/.test(look.display)
      const isSeen = link.checkVisibility({ visibilityProperty: true }) && link.getBoundingClientRect().width > 1
      return isBox || !isSeen || look.textDecorationLine.includes('underline') ? [] : [link.outerHTML.slice(0, 200)]
    }),
  )

/** Pixels between the head of a page and its content, and the trails that are visible: in the bar, or without one above the title. */
const frameOf = (page: Page) =>
  page.evaluate(() => {
    const head = document.querySelector('main > header')
    const next = head?.nextElementSibling
    const isSeen = (element: Element) => element.checkVisibility({ visibilityProperty: true })
    const trails = [...document.querySelectorAll('nav[aria-label="Breadcrumbs"]')].filter(isSeen)
    return {
      space: head && next ? Math.round(next.getBoundingClientRect().top - head.getBoundingClientRect().bottom) : 24,
      trails: trails.length,
      isInBar:
        document.querySelector('.with-sidebar') === null || trails.every((trail) => trail.closest('main') === null),
    }
  })

for (const area of ['public', 'you', 'admin'] as const) {
  const entries: (PageEntry & { name: PageName })[] = pages.filter((entry) => areaOf(entry) === area)
  test(`${area} pages have controls of three heights, underlined links, one trail and one space below the title (KP_SEED=${sampleSeed})`, async ({
    browser,
  }) => {
    test.setTimeout(600_000)
    const page = await opened(browser, area)
    for (const { name } of sampled(`browser: controls of ${area} pages`, entries, 8)) {
      await page.goto(at[name], { waitUntil: 'load' })
      await alive(page)
      expect.soft(await otherControls(page), name).toEqual([])
      expect.soft(await hiddenLinks(page), name).toEqual([])
      const { space, trails, isInBar } = await frameOf(page)
      expect.soft({ space, isInBar, isOne: trails <= 1 }, name).toEqual({ space: 24, isInBar: true, isOne: true })
    }
    await page.context().close()
  })
}

test('a clicked link is marked immediately, and a bar shows while the next page loads', async ({ browser }) => {
  const page = await opened(browser, 'admin')
  await page.goto('/admin/requests')
  await alive(page)
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(/\/admin\/holds/, async (route) => {
    await held
    await route.continue()
  })
  const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /^Legal holds/ })
  // In the same task as the click: nothing is painted before the mark. The part that marks links has no element that shows when it is ready.
  await expect
    .poll(() =>
      link.evaluate((element: HTMLElement) => {
        element.click()
        return element.hasAttribute('data-pending')
      }),
    )
    .toBe(true)
  await expect(page.locator('div.fixed.inset-x-0.top-0')).toBeVisible()
  expect(new URL(page.url()).pathname).toBe('/admin/requests')
  release()
  await page.waitForURL('**/admin/holds')
  await expect(link).not.toHaveAttribute('data-pending')
  await page.context().close()
})

/** Texts of the bar at the top and of table rows that cover each other by more than a pixel. */
const coveredTexts = (page: Page) =>
  page.evaluate(() => {
    const textsIn = (box: Element) => {
      const found: { text: string; at: Pick<DOMRect, 'left' | 'right' | 'top' | 'bottom'> }[] = []
      const texts = document.createNodeIterator(box, NodeFilter.SHOW_TEXT)
      for (let node = texts.nextNode(); node; node = texts.nextNode()) {
        const isSeen = node.parentElement?.checkVisibility({ visibilityProperty: true }) ?? false
        if (!isSeen || node.parentElement?.closest('.sr-only') || !node.nodeValue?.trim()) continue
        const range = document.createRange()
        range.selectNodeContents(node)
        const shown = node.parentElement?.getBoundingClientRect()
        // A shortened text ends at its box.
        const isShortened = node.parentElement && getComputedStyle(node.parentElement).overflowX !== 'visible'
        const end = isShortened && shown ? shown.right : Number.POSITIVE_INFINITY
        for (const { left, right, top, bottom } of range.getClientRects())
          if (Math.min(right, end) - left > 2)
            found.push({ text: node.nodeValue, at: { left, right: Math.min(right, end), top, bottom } })
      }
      return found
    }
    return [...document.querySelectorAll('body header, main tbody tr')].flatMap((box) => {
      const texts = textsIn(box)
      return texts.flatMap((one, index) =>
        texts.slice(index + 1).flatMap((other) => {
          const width = Math.min(one.at.right, other.at.right) - Math.max(one.at.left, other.at.left)
          const height = Math.min(one.at.bottom, other.at.bottom) - Math.max(one.at.top, other.at.top)
          return one.text !== other.text && width > 1 && height > 4 ? [`${one.text} | ${other.text}`] : []
        }),
      )
    })
  })

test('at 320 pixels no text of the bar or of a list covers another', async ({ browser }) => {
  for (const [area, names] of [
    ['public', ['home', 'receipt']],
    ['admin', ['deletionLog', 'users', 'requests', 'erasures']],
  ] as const)
    for (const locale of ['en-GB', 'zh-CN']) {
      const session = sessions[area]
      const context = await browser.newContext({
        baseURL: origin,
        locale,
        viewport: { width: 320, height: 640 },
        ...(session && { storageState: session }),
      })
      const page = await context.newPage()
      for (const name of names) {
        await page.goto(at[name])
        await alive(page)
        expect.soft(await coveredTexts(page), `${name} in ${locale}`).toEqual([])
      }
      await context.close()
    }
})

test('tabs that need more width than a phone has fade at the side where more follow', async ({ browser }) => {
  const page = await opened(browser, 'you')
  const tabs = page.getByRole('main').getByRole('navigation').first()
  const fades = () =>
    tabs.evaluate((strip) =>
      ['--fade-left', '--fade-right'].map((name) => getComputedStyle(strip).getPropertyValue(name)),
    )
  await page.goto('/settings/privacy')
  await alive(page)
  await expect.poll(fades).toEqual(['0px', '0px'])
  await page.setViewportSize({ width: 320, height: 640 })
  await expect.poll(async () => (await fades())[1]).not.toBe('0px')
  await tabs.evaluate((strip) => strip.scrollTo({ left: strip.scrollWidth }))
  await expect.poll(async () => (await fades()).map((width) => width === '0px')).toEqual([false, true])
  await page.context().close()
})
