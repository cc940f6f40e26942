import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.audit.searches)
export const POST = route(app.audit.saveSearch)
