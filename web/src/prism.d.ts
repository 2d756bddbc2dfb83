declare module "prismjs/components/prism-core" {
  namespace Prism {
    type Content = string | Token | Content[];
    interface Token {
      type: string;
      content: Content;
    }
    const languages: Record<string, unknown>;
    function tokenize(text: string, grammar: object): (string | Token)[];
  }
  export default Prism;
}
declare module "prismjs/components/*";
