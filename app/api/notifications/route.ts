import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.console.notices)
