import { Component, type ComponentChildren, type FunctionComponent } from "preact";

/** memo renders a component again only when its properties are not equal. */
export function memo<P extends object>(Inner: FunctionComponent<P>, equal: (a: P, b: P) => boolean): FunctionComponent<P & { key?: string }> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return !equal(this.props as P, next as P);
    }

    override render(props: P): ComponentChildren {
      return <Inner {...props} />;
    }
  }
  return Memo as unknown as FunctionComponent<P & { key?: string }>;
}
