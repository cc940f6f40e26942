import { app, route } from '#lib/app.ts'

export const GET = route(app.audit.searches)
export const POST = route(app.audit.saveSearch)
