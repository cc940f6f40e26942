import { app, route } from '#lib/app.ts'

export const DELETE = route(app.erasing.eraseMessage)
export const GET = route(app.projects.readMessage)
export const PATCH = route(app.projects.editMessage)
